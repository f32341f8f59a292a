package dev.verbena.sockets;

import dev.verbena.verbs.SendList;

/**
 * What the peer is granted: messages, and halves of the receive buffer, which an SGE in the table
 * of the protocol announces in its table. Guarded by the lock of the stream.
 */
final class Grants {
  private final Sizes sizes;
  private final StreamMemory memory;
  private final InputRing input;
  private final StreamRequests requests;
  private final ControlMessages control;

  /** The peer's table of SGEs. */
  private ConnectionData peer;

  // The numbers of messages overflow without harm.
  private short messages;
  private short next;

  private int peerEntry = 1;

  /** The place of the next SGE behind the send buffer. */
  private int place;

  Grants(
      Sizes sizes,
      StreamMemory memory,
      InputRing input,
      StreamRequests requests,
      ControlMessages control) {
    this.sizes = sizes;
    this.memory = memory;
    this.input = input;
    this.requests = requests;
    this.control = control;
    peer = memory.describe(); // Until it is known.
    next = (short) (sizes.receives() / 2);
  }

  void begin(ConnectionData data) {
    peer = data;
  }

  /** Counts a message, whose receive request was posted again. */
  void receivedMessage() {
    messages++;
  }

  boolean areDue() {
    return input.isHalfFree() || (short) (messages - next) >= 0;
  }

  /** Sends what is due. */
  void send() {
    next = (short) (messages + sizes.receives() / 2);
    int message = RsocketMessage.of(RsocketMessage.GRANT, (messages + sizes.receives()) & 0xffff);
    SendList list = requests.list();
    if (!input.isHalfFree()) {
      list.immediate(StreamRequests.MESSAGE, message);
      control.post(StreamRequests.MESSAGE, RsocketMessage.GRANT, 0);
      return;
    }
    int at = sizes.sendBuffer() + place * ConnectionData.SGE_SIZE;
    place = (place + 1) % Sizes.CONTROL_MESSAGES;
    long address = memory.ringAddress(input.grantHalf());
    peer.putSge(memory.sendBuffer(), at, address, memory.ringKey(), input.half());
    list.local(StreamRequests.GRANT, memory.sendRegion(), at, ConnectionData.SGE_SIZE);
    list.immediate(StreamRequests.GRANT, message);
    list.remote(
        StreamRequests.GRANT,
        peer.table().address() + (long) peerEntry * ConnectionData.SGE_SIZE,
        peer.table().key());
    peerEntry = (peerEntry + 1) % peer.table().length();
    control.post(StreamRequests.GRANT, RsocketMessage.GRANT, 0);
  }
}
