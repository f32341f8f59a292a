package dev.verbena.soft.transport;

import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.Completion;
import dev.verbena.soft.device.FrameTarget;
import dev.verbena.soft.device.ReceiveRequest;
import dev.verbena.soft.device.SoftCompletionQueue;
import dev.verbena.soft.device.SoftDomain;
import dev.verbena.soft.device.SoftObject;
import dev.verbena.soft.wire.EthernetFrame;
import dev.verbena.soft.wire.Packet;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.zip.CRC32;

/** Fills the receive requests of a raw packet queue pair or of a work queue with frames. */
abstract class FrameReceiver implements FrameTarget {
  private static final int ADDRESSES = 12;

  private final SoftObject owner;
  private final SoftDomain domain;
  private final SoftCompletionQueue completions;
  private final int number;
  private final Completion completion = new Completion();
  private final MemorySegment checkSequence = Arena.ofAuto().allocate(Integer.BYTES, Integer.BYTES);
  private ReceiveRequest request;

  /** Whether a VLAN tag is taken out of the frame and put into the completion. */
  boolean stripsTags;

  /** Whether the frame check sequence (FCS) follows the frame. */
  boolean keepsCheckSequence;

  FrameReceiver(SoftObject owner, SoftDomain domain, SoftCompletionQueue completions, int number) {
    this.owner = owner;
    this.domain = domain;
    this.completions = completions;
    this.number = number;
  }

  abstract int maxElements();

  /** Takes a receive request; false if none was posted or the state does not allow it. */
  abstract boolean take(ReceiveRequest into);

  /** The memory of a receive request cannot be written. */
  abstract void failed();

  @Override
  public void receive(EthernetFrame frame, Packet packet, int flowTag) {
    if (request == null) {
      request = new ReceiveRequest(maxElements());
    }
    completions.reserve();
    if (!take(request)) {
      owner.device.counters.droppedPackets++;
      return;
    }
    boolean strips = stripsTags && frame.isTagged();
    int length =
        packet.length - (strips ? EthernetFrame.TAG : 0) + (keepsCheckSequence ? Integer.BYTES : 0);
    completion.begin(owner, number, rdma_h.IBV_WC_RECV(), request);
    if (length > request.elements.length()) {
      completion.status = rdma_h.IBV_WC_LOC_LEN_ERR();
    } else if (!scatter(packet, strips)) {
      completion.status = rdma_h.IBV_WC_LOC_PROT_ERR();
    } else {
      completion.length = length;
      completion.flags = frame.hasGoodChecksums() ? rdma_h.IBV_WC_IP_CSUM_OK() : 0;
      completion.vlanTag = strips ? frame.tag() : 0;
      completion.flowTag = flowTag;
    }
    completions.add(completion, false);
    if (completion.status == rdma_h.IBV_WC_LOC_PROT_ERR()) {
      failed();
    }
  }

  private boolean scatter(Packet packet, boolean strips) {
    int at = packet.length;
    boolean scattered;
    if (strips) {
      at -= EthernetFrame.TAG;
      scattered =
          request.elements.scatter(domain, 0, packet.payload, ADDRESSES)
              && request.elements.scatter(
                  domain,
                  ADDRESSES,
                  packet.payload + ADDRESSES + EthernetFrame.TAG,
                  at - ADDRESSES);
    } else {
      scattered = request.elements.scatter(domain, 0, packet.payload, at);
    }
    return scattered && (!keepsCheckSequence || scatterCheckSequence(packet, at));
  }

  /** The CRC of the whole frame, in the order in which it is sent. */
  private boolean scatterCheckSequence(Packet packet, int at) {
    CRC32 crc = new CRC32();
    crc.update(Memory.at(packet.payload, packet.length).asByteBuffer());
    checkSequence.set(
        ValueLayout.JAVA_INT.withOrder(ByteOrder.LITTLE_ENDIAN), 0, (int) crc.getValue());
    return request.elements.scatter(domain, at, checkSequence.address(), Integer.BYTES);
  }
}
