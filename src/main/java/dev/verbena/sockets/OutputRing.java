package dev.verbena.sockets;

import dev.verbena.verbs.SendList;
import java.nio.ByteBuffer;

/**
 * The send buffer of a stream, and what the peer has granted: the halves of its receive buffer, and
 * a number of messages. Guarded by the lock of the stream, but for {@link #copy}.
 */
final class OutputRing {
  /** A stream is writable if so much of the send buffer is free. */
  private static final int LEAST_FREE = 2048;

  private final Sizes sizes;
  private final StreamMemory memory;
  private final StreamRequests requests;
  private final StreamState state;

  /** The peer's table of areas. */
  private ConnectionData peer;

  private final StreamMemory.Target[] targets = {
    new StreamMemory.Target(), new StreamMemory.Target()
  };
  private int target;
  private int nextTarget = 1;

  // The numbers of messages overflow without harm.
  private short sent;
  private short allowed;

  private int freeRequests;
  private int freeBytes;
  private int writeOffset;

  OutputRing(Sizes sizes, StreamMemory memory, StreamRequests requests, StreamState state) {
    this.sizes = sizes;
    this.memory = memory;
    this.requests = requests;
    this.state = state;
    peer = memory.describe(); // Until it is known.
    freeRequests = sizes.sends() - Sizes.CONTROL_MESSAGES;
    freeBytes = sizes.sendBuffer();
  }

  /** Sets what the peer has granted when it connected. */
  void begin(ConnectionData data) {
    peer = data;
    targets[0].set(peer.buffer().address(), peer.buffer().key(), peer.buffer().length());
    allowed = (short) peer.credits();
  }

  /** The peer has granted messages, and perhaps memory. */
  void granted(int messages) {
    allowed = (short) messages;
    while (targets[nextTarget].length() == 0 && memory.take(nextTarget, targets[nextTarget])) {
      nextTarget = 1 - nextTarget;
    }
  }

  /** A request has completed that occupied bytes. */
  void completed(int bytes) {
    freeRequests++;
    freeBytes += bytes;
  }

  boolean canSend() {
    return state.isConnected()
        && freeRequests > 0
        && freeBytes >= Math.min(LEAST_FREE, sizes.sendBuffer())
        && sent != allowed
        && targets[target].length() > 0;
  }

  /** Returns the receive buffer of the peer, as far as it is granted without a gap. */
  StreamMemory.Target target() {
    return targets[target];
  }

  /** Returns how many bytes the next message to a target can have, of those that are wanted. */
  int room(int wanted, StreamMemory.Target to) {
    return (int) Math.min(Math.min(wanted, freeBytes), to.length());
  }

  /** Returns how many of the bytes there is room for without a gap. */
  int contiguous(int count) {
    return Math.min(count, sizes.sendBuffer() - writeOffset);
  }

  /** Sends bytes inline. */
  void sendInline(ByteBuffer source, int count) {
    requests.setInlineData(source, count);
    postData(StreamRequests.INLINE_DATA, count);
  }

  /** Copies bytes to the place of the next message, by the thread that sends. */
  void copy(ByteBuffer source, int count) {
    memory.sendBuffer().put(writeOffset, source, source.position(), count);
  }

  /** Sends the bytes that were copied. */
  void send(int count) {
    requests.list().local(StreamRequests.DATA, memory.sendRegion(), writeOffset, count);
    advance(count);
    postData(StreamRequests.DATA, count);
  }

  /** Writes the bytes that were copied to memory that the peer has mapped. */
  void write(int count, StreamMemory.Target mapped) {
    SendList list = requests.list();
    list.local(StreamRequests.WRITE, memory.sendRegion(), writeOffset, count);
    list.remote(StreamRequests.WRITE, mapped.address(), mapped.key());
    advance(count);
    postCounted(StreamRequests.WRITE, RsocketMessage.MAPPED_WRITE, count);
  }

  /** Writes to the table of the peer which areas are mapped. */
  void tell(MappedAreas areas) {
    while (areas.hasUntold() && canSend()) {
      tell(areas.nextUntold());
    }
  }

  private void tell(MappedAreas.Area area) {
    int left = sizes.sendBuffer() - writeOffset;
    int skipped = left < StreamMemory.AREA_SIZE ? left : 0;
    advance(skipped);
    peer.putArea(
        memory.sendBuffer(),
        writeOffset,
        area.offset(),
        area.region().start(),
        area.region().rkey(),
        (int) Math.min(area.region().length(), 0xffff_ffffL));
    SendList list = requests.list();
    list.local(StreamRequests.AREA, memory.sendRegion(), writeOffset, StreamMemory.AREA_SIZE);
    list.immediate(StreamRequests.AREA, RsocketMessage.of(RsocketMessage.AREA, area.index()));
    long table = peer.table().address() + (long) peer.table().length() * ConnectionData.SGE_SIZE;
    list.remote(
        StreamRequests.AREA,
        table + (long) area.index() * StreamMemory.AREA_SIZE,
        peer.table().key());
    advance(StreamMemory.AREA_SIZE);
    sent++;
    postCounted(StreamRequests.AREA, RsocketMessage.AREA, skipped + StreamMemory.AREA_SIZE);
  }

  private void advance(int count) {
    writeOffset = (writeOffset + count) % sizes.sendBuffer();
  }

  /** Posts data to the receive buffer of the peer. */
  private void postData(int request, int count) {
    StreamMemory.Target to = targets[target];
    SendList list = requests.list();
    list.immediate(request, RsocketMessage.of(RsocketMessage.DATA, count));
    list.remote(request, to.address(), to.key());
    to.advance(count);
    if (to.length() == 0) {
      target = 1 - target;
    }
    sent++;
    postCounted(request, RsocketMessage.DATA, count);
  }

  /** Posts a request that occupies bytes of the send buffer. */
  private void postCounted(int request, int operation, int bytes) {
    freeRequests--;
    freeBytes -= bytes;
    requests.post(request, operation, bytes);
  }
}
