package dev.verbena.soft.wire;

import org.jspecify.annotations.Nullable;

/** Packets as one line of text each, with the names that {@code IBV_OPCODE_...} has in C. */
public final class PacketText {
  /** By operation; a dash where there is none. */
  private static final String[] OPERATIONS =
      """
      SEND_FIRST SEND_MIDDLE SEND_LAST SEND_LAST_WITH_IMMEDIATE SEND_ONLY SEND_ONLY_WITH_IMMEDIATE \
      RDMA_WRITE_FIRST RDMA_WRITE_MIDDLE RDMA_WRITE_LAST RDMA_WRITE_LAST_WITH_IMMEDIATE \
      RDMA_WRITE_ONLY RDMA_WRITE_ONLY_WITH_IMMEDIATE RDMA_READ_REQUEST RDMA_READ_RESPONSE_FIRST \
      RDMA_READ_RESPONSE_MIDDLE RDMA_READ_RESPONSE_LAST RDMA_READ_RESPONSE_ONLY ACKNOWLEDGE \
      ATOMIC_ACKNOWLEDGE COMPARE_SWAP FETCH_ADD - SEND_LAST_WITH_INVALIDATE \
      SEND_ONLY_WITH_INVALIDATE - - - - FLUSH ATOMIC_WRITE\
      """
          .split(" ", -1);

  private PacketText() {}

  /** Describes a packet. */
  public static String of(Packet packet) {
    CmDatagram datagram = datagram(packet);
    return datagram == null ? headers(packet) : headers(packet) + ' ' + name(datagram);
  }

  /** Describes the GIDs of a packet. */
  static String addresses(Packet packet) {
    return address(packet.sourceGidHigh, packet.sourceGidLow)
        + " > "
        + address(packet.destinationGidHigh, packet.destinationGidLow);
  }

  /** Describes a packet without its payload. */
  static String headers(Packet packet) {
    StringBuilder text = new StringBuilder(160);
    text.append(addresses(packet))
        .append(' ')
        .append(name(packet.opcode))
        .append(" qpn=0x%06x psn=0x%06x".formatted(packet.destination, packet.psn));
    if (packet.ackRequested) {
      text.append(" ack");
    }
    if (packet.solicited) {
      text.append(" solicited");
    }
    appendExtensions(text, packet);
    if (packet.length > 0) {
      text.append(" payload=").append(packet.length);
    }
    if (packet.corrupt) {
      text.append(" wrong ICRC");
    }
    return text.toString();
  }

  private static String address(long high, long low) {
    return new Gids(high, low).address().getHostAddress();
  }

  private static String name(int opcode) {
    String transport =
        switch (Opcode.transport(opcode)) {
          case Opcode.RC -> "RC_";
          case Opcode.UC -> "UC_";
          case Opcode.UD -> "UD_";
          case Opcode.XRC -> "XRC_";
          case Opcode.SRD -> "SRD_";
          case Opcode.DC -> "DC_";
          default -> null;
        };
    int operation = Opcode.operation(opcode);
    String name = operation < OPERATIONS.length ? OPERATIONS[operation] : "-";
    return transport == null || name.equals("-")
        ? "opcode 0x%02x".formatted(opcode)
        : transport + name;
  }

  private static void appendExtensions(StringBuilder text, Packet packet) {
    int operation = Opcode.operation(packet.opcode);
    switch (operation) {
      case Opcode.WRITE_FIRST,
          Opcode.WRITE_ONLY,
          Opcode.WRITE_ONLY_IMM,
          Opcode.READ_REQUEST,
          Opcode.FLUSH,
          Opcode.ATOMIC_WRITE ->
          text.append(
              " va=0x%x rkey=0x%08x length=%s"
                  .formatted(
                      packet.address,
                      packet.remoteKey,
                      Integer.toUnsignedString(packet.dmaLength)));
      case Opcode.COMPARE_SWAP ->
          text.append(
              " va=0x%x rkey=0x%08x compare=0x%x swap=0x%x"
                  .formatted(packet.address, packet.remoteKey, packet.compare, packet.swapOrAdd));
      case Opcode.FETCH_ADD ->
          text.append(
              " va=0x%x rkey=0x%08x add=0x%x"
                  .formatted(packet.address, packet.remoteKey, packet.swapOrAdd));
      case Opcode.READ_RESPONSE_FIRST,
          Opcode.READ_RESPONSE_LAST,
          Opcode.READ_RESPONSE_ONLY,
          Opcode.ACKNOWLEDGE,
          Opcode.ATOMIC_ACKNOWLEDGE ->
          text.append(' ').append(answer(packet));
      default -> {}
    }
    if (operation == Opcode.ATOMIC_ACKNOWLEDGE) {
      text.append(" original=0x%x".formatted(packet.original));
    }
    if (Opcode.hasImmediate(operation)) {
      text.append(" immediate=0x%08x".formatted(Integer.reverseBytes(packet.immediate)));
    } else if (Opcode.invalidates(operation)) {
      text.append(" invalidate=0x%08x".formatted(packet.immediate));
    }
    int transport = Opcode.transport(packet.opcode);
    if (transport == Opcode.UD || transport == Opcode.SRD) {
      text.append(" qkey=0x%08x from=0x%06x".formatted(packet.queueKey, packet.sourceNumber));
    } else if (transport == Opcode.DC) {
      text.append(" from=0x%06x session=0x%x".formatted(packet.sourceNumber, packet.session));
    }
  }

  /** The AETH: on SRD it has the status of a work completion. */
  private static String answer(Packet packet) {
    return Opcode.transport(packet.opcode) == Opcode.SRD
        ? "status=" + packet.syndrome
        : syndrome(packet.syndrome) + " msn=" + packet.messageNumber;
  }

  private static String syndrome(int syndrome) {
    if (Syndrome.isAck(syndrome)) {
      return "ACK";
    }
    if (Syndrome.isRnrNak(syndrome)) {
      return "RNR_NAK(%.2f ms)".formatted(Syndrome.rnrNanos(syndrome) / 1e6);
    }
    return switch (syndrome) {
      case Syndrome.NAK_SEQUENCE -> "NAK(PSN sequence error)";
      case Syndrome.NAK_INVALID_REQUEST -> "NAK(invalid request)";
      case Syndrome.NAK_REMOTE_ACCESS -> "NAK(remote access error)";
      case Syndrome.NAK_REMOTE_OPERATION -> "NAK(remote operational error)";
      default -> "syndrome 0x%02x".formatted(syndrome);
    };
  }

  private static @Nullable CmDatagram datagram(Packet packet) {
    boolean isManagement =
        Opcode.transport(packet.opcode) == Opcode.UD
            && packet.destination == 1
            && packet.length == ManagementDatagram.LENGTH;
    return isManagement ? CmDatagram.read(packet.payload) : null;
  }

  private static String name(CmDatagram datagram) {
    return switch (datagram.message()) {
      case CmMessage.Req req ->
          "CM REQ id=0x%08x service=0x%x qpn=0x%06x psn=0x%06x"
              .formatted(
                  req.id(), req.service(), req.offer().queuePair(), req.offer().startingPsn());
      case CmMessage.Rep rep ->
          "CM REP id=0x%08x peer=0x%08x qpn=0x%06x psn=0x%06x"
              .formatted(
                  rep.id(), rep.peerId(), rep.offer().queuePair(), rep.offer().startingPsn());
      case CmMessage.Rtu rtu -> "CM RTU id=0x%08x peer=0x%08x".formatted(rtu.id(), rtu.peerId());
      case CmMessage.Rej rej ->
          "CM REJ id=0x%08x peer=0x%08x reason=%d".formatted(rej.id(), rej.peerId(), rej.reason());
      case CmMessage.Mra mra -> "CM MRA id=0x%08x peer=0x%08x".formatted(mra.id(), mra.peerId());
      case CmMessage.Dreq dreq ->
          "CM DREQ id=0x%08x peer=0x%08x qpn=0x%06x"
              .formatted(dreq.id(), dreq.peerId(), dreq.queuePair());
      case CmMessage.Drep drep ->
          "CM DREP id=0x%08x peer=0x%08x".formatted(drep.id(), drep.peerId());
      case CmMessage.SidrReq req ->
          "CM SIDR_REQ id=0x%08x service=0x%x".formatted(req.id(), req.service());
      case CmMessage.SidrRep rep ->
          "CM SIDR_REP id=0x%08x status=%d qpn=0x%06x"
              .formatted(rep.id(), rep.status(), rep.queuePair());
    };
  }
}
