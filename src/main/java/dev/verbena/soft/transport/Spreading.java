package dev.verbena.soft.transport;

import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_rx_hash_conf;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.CallFailure;
import dev.verbena.soft.device.FrameTarget;
import dev.verbena.soft.wire.EthernetFrame;
import dev.verbena.soft.wire.Packet;
import dev.verbena.soft.wire.Toeplitz;
import java.lang.foreign.ValueLayout;

/**
 * Receive side scaling (RSS): the hash of chosen fields of a frame chooses a work queue of an
 * indirection table. A frame that lacks one of the fields has the hash 0.
 */
public final class Spreading implements FrameTarget {
  private static final int IPV4 = rdma_h.IBV_RX_HASH_SRC_IPV4() | rdma_h.IBV_RX_HASH_DST_IPV4();
  private static final int IPV6 = rdma_h.IBV_RX_HASH_SRC_IPV6() | rdma_h.IBV_RX_HASH_DST_IPV6();
  private static final int TCP =
      rdma_h.IBV_RX_HASH_SRC_PORT_TCP() | rdma_h.IBV_RX_HASH_DST_PORT_TCP();
  private static final int UDP =
      rdma_h.IBV_RX_HASH_SRC_PORT_UDP() | rdma_h.IBV_RX_HASH_DST_PORT_UDP();

  public static final long FIELDS = Integer.toUnsignedLong(IPV4 | IPV6 | TCP | UDP);

  public final SoftIndirectionTable table;
  private final int fields;
  private final Toeplitz hash;
  private final byte[] input = new byte[Toeplitz.KEY - Integer.BYTES];
  private int length;

  private Spreading(SoftIndirectionTable table, int fields, Toeplitz hash) {
    this.table = table;
    this.fields = fields;
    this.hash = hash;
  }

  /**
   * Reads a {@code struct ibv_rx_hash_conf}.
   *
   * @throws VerbsException EINVAL or EOPNOTSUPP if the function is another than Toeplitz with a key
   *     of 40 bytes, or a field is not known
   */
  public static Spreading read(SoftIndirectionTable table, long address) {
    CStruct conf = CStruct.at(address, ibv_rx_hash_conf.layout());
    long fields = conf.getLong("rx_hash_fields_mask");
    CallFailure.unsupportedIf(
        conf.getByte("rx_hash_function") != rdma_h.IBV_RX_HASH_FUNC_TOEPLITZ()
            || (fields & ~FIELDS) != 0,
        "rx_hash_fields_mask 0x" + Long.toHexString(fields));
    if (conf.getByte("rx_hash_key_len") != Toeplitz.KEY) {
      throw CallFailure.invalid(
          "rx_hash_key_len must be " + Toeplitz.KEY + ", not " + conf.getByte("rx_hash_key_len"));
    }
    byte[] key =
        Memory.at(conf.getLong("rx_hash_key"), Toeplitz.KEY).toArray(ValueLayout.JAVA_BYTE);
    return new Spreading(table, (int) fields, new Toeplitz(key));
  }

  @Override
  public void receive(EthernetFrame frame, Packet packet, int flowTag) {
    table.queue(hash(frame)).frames().receive(frame, packet, flowTag);
  }

  private int hash(EthernetFrame frame) {
    length = 0;
    boolean addresses =
        frame.isIpv4()
            ? take(IPV4, frame, frame.networkHeader() + 12, 4)
            : frame.isIpv6() && take(IPV6, frame, frame.networkHeader() + 8, 16);
    boolean ports =
        frame.has(EthernetFrame.TCP)
            ? take(TCP, frame, frame.transportHeader(), 2)
            : frame.has(EthernetFrame.UDP) && take(UDP, frame, frame.transportHeader(), 2);
    boolean complete =
        (addresses || (fields & (IPV4 | IPV6)) == 0) && (ports || (fields & (TCP | UDP)) == 0);
    return complete ? hash.hash(input, length) : 0;
  }

  /** Takes source and destination, as far as they are asked for; false if neither is. */
  private boolean take(int both, EthernetFrame frame, int at, int size) {
    int source = Integer.lowestOneBit(both);
    int asked = fields & both;
    if ((asked & source) != 0) {
      frame.copy(at, size, input, length);
      length += size;
    }
    if ((asked & ~source) != 0) {
      frame.copy(at + size, size, input, length);
      length += size;
    }
    return asked != 0;
  }
}
