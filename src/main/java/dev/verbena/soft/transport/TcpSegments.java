package dev.verbena.soft.transport;

import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.wire.EthernetFrame;
import dev.verbena.soft.wire.Packet;

/**
 * TCP segmentation offload (TSO): a request of headers and data becomes frames, each with the
 * headers and at most the maximum segment size (MSS) of data. Lengths, IPv4 identification, TCP
 * sequence number, flags and checksums are those of each segment.
 */
public final class TcpSegments {
  public static final int MAX_LENGTH = 256 * 1024;

  private static final int IP_LENGTH = 2;
  private static final int IPV6_LENGTH = 4;
  private static final int IP_IDENTIFICATION = 4;
  private static final int IPV6_HEADER = 40;
  private static final int TCP_SEQUENCE = 4;
  private static final int TCP_FLAGS = 13;
  private static final int FIN_PSH = 0x01 | 0x08;
  private static final int CWR = 0x80;

  private final RawTransport transport;
  private final EthernetFrame frame = new EthernetFrame();

  TcpSegments(RawTransport transport) {
    this.transport = transport;
  }

  /** Sends the frames of a request: the completion status. */
  int send(SoftSendRequest request) {
    long length = request.length();
    if (length > MAX_LENGTH
        || request.segmentSize < 1
        || request.headerLength + request.segmentSize > RawTransport.MAX_FRAME) {
      return rdma_h.IBV_WC_LOC_LEN_ERR();
    }
    if (!transport.isReadable(request)) {
      return rdma_h.IBV_WC_LOC_PROT_ERR();
    }
    int done = 0;
    do {
      int size = (int) Math.min(request.segmentSize, length - done);
      int status = send(request, done, size, done + size == length);
      if (status != rdma_h.IBV_WC_SUCCESS()) {
        return status;
      }
      done += size;
    } while (done < length);
    return rdma_h.IBV_WC_SUCCESS();
  }

  private int send(SoftSendRequest request, int offset, int size, boolean last) {
    Packet packet = transport.packet();
    int header = request.headerLength;
    packet.length = header + size;
    Memory.copy(request.headerBuffer, packet.payload, header);
    int status =
        request.gather(transport.queuePair.domain, offset, packet.payload + header, size)
            ? complete(packet, header, offset / request.segmentSize, offset, last)
            : rdma_h.IBV_WC_LOC_PROT_ERR();
    if (status == rdma_h.IBV_WC_SUCCESS()) {
      transport.transmit(packet);
    } else {
      transport.packets.release(packet);
    }
    return status;
  }

  /** Changes the headers for a segment. */
  private int complete(Packet packet, int header, int segment, int offset, boolean last) {
    long payload = packet.payload;
    int network = EthernetFrame.networkHeaderOf(payload, header);
    if (network == 0) {
      return rdma_h.IBV_WC_LOC_QP_OP_ERR();
    }
    if (Memory.getByte(payload + network) >>> 4 == 4) {
      putShort(payload + network + IP_LENGTH, packet.length - network);
      long identification = payload + network + IP_IDENTIFICATION;
      putShort(identification, Short.reverseBytes(Memory.getShort(identification)) + segment);
    } else {
      putShort(payload + network + IPV6_LENGTH, packet.length - network - IPV6_HEADER);
    }
    if (!frame.at(payload, packet.length).has(EthernetFrame.TCP)
        || frame.transportHeader() + TCP_FLAGS >= header) {
      return rdma_h.IBV_WC_LOC_QP_OP_ERR();
    }
    long tcp = payload + frame.transportHeader();
    int sequence = Integer.reverseBytes(Memory.getInt(tcp + TCP_SEQUENCE));
    Memory.putInt(tcp + TCP_SEQUENCE, Integer.reverseBytes(sequence + offset));
    int flags = Memory.getByte(tcp + TCP_FLAGS);
    flags = last ? flags : flags & ~FIN_PSH;
    flags = segment == 0 ? flags : flags & ~CWR;
    Memory.putByte(tcp + TCP_FLAGS, (byte) flags);
    frame.fillChecksums();
    return rdma_h.IBV_WC_SUCCESS();
  }

  private static void putShort(long address, int value) {
    Memory.putShort(address, Short.reverseBytes((short) value));
  }
}
