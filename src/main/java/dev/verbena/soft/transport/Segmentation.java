package dev.verbena.soft.transport;

import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.SoftDomain;
import dev.verbena.soft.wire.Opcode;
import dev.verbena.soft.wire.Packet;

/** Segmentation of SEND and RDMA WRITE messages into packets of at most the path MTU. */
final class Segmentation {
  private Segmentation() {}

  /** How many packets a message or a READ response has. */
  static int count(long length, int mtu) {
    return (int) Math.max(1, (length + mtu - 1) / mtu);
  }

  /**
   * Fills a packet of a message, addresses and destination excepted.
   *
   * @param index which of the message's packets
   * @param mayRefer whether a packet of an RDMA WRITE may refer to the data instead of a copy
   * @return whether the data could be read
   */
  static boolean fill(
      Packet packet,
      SoftSendRequest request,
      int index,
      int mtu,
      int transport,
      SoftDomain domain,
      boolean mayRefer) {
    long length = request.length();
    boolean first = index == 0;
    boolean last = index == request.packets - 1;
    packet.opcode = transport | opcode(request, first, last);
    if (last) {
      packet.immediate = request.immediate;
      packet.solicited = request.has(rdma_h.IBV_SEND_SOLICITED());
    }
    if (first && request.isWrite()) {
      packet.address = request.remoteAddress;
      packet.remoteKey = request.remoteKey;
      packet.dmaLength = (int) length;
    }
    packet.sharedQueue = request.sharedQueue;
    long offset = (long) index * mtu;
    packet.length = (int) Math.min(mtu, length - offset);
    return (mayRefer
            && request.isWrite()
            && request.inlineLength < 0
            && request.elements.refer(domain, offset, packet))
        || request.gather(domain, offset, packet.payload, packet.length);
  }

  private static int opcode(SoftSendRequest request, boolean first, boolean last) {
    int operation = request.opcode;
    if (operation == rdma_h.IBV_WR_SEND_WITH_INV() && last) {
      return first ? Opcode.SEND_ONLY_INVALIDATE : Opcode.SEND_LAST_INVALIDATE;
    }
    if (request.isWrite()) {
      boolean immediate = operation == rdma_h.IBV_WR_RDMA_WRITE_WITH_IMM();
      if (last) {
        return first
            ? immediate ? Opcode.WRITE_ONLY_IMM : Opcode.WRITE_ONLY
            : immediate ? Opcode.WRITE_LAST_IMM : Opcode.WRITE_LAST;
      }
      return first ? Opcode.WRITE_FIRST : Opcode.WRITE_MIDDLE;
    }
    boolean immediate = operation == rdma_h.IBV_WR_SEND_WITH_IMM();
    if (last) {
      return first
          ? immediate ? Opcode.SEND_ONLY_IMM : Opcode.SEND_ONLY
          : immediate ? Opcode.SEND_LAST_IMM : Opcode.SEND_LAST;
    }
    return first ? Opcode.SEND_FIRST : Opcode.SEND_MIDDLE;
  }
}
