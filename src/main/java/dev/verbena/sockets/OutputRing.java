package dev.verbena.sockets;

import dev.verbena.verbs.SendList;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * The send buffer of a stream: a ring with bytes that are not acknowledged, and behind them bytes
 * that wait to be posted; and what the peer has granted: parts of its receive buffer, and a number
 * of messages. Guarded by the lock of the stream, but for {@link #copy}.
 */
final class OutputRing {
  /** A stream is writable if so much of the send buffer is free. */
  private static final int LEAST_FREE = 2048;

  private static final int LARGEST_MESSAGE = 1 << 16;

  /** Bytes wait for more if no larger part of the granted messages is left. */
  private static final int SCARCE = 4;

  private final Sizes sizes;
  private final StreamMemory memory;
  private final StreamRequests requests;
  private final StreamState state;
  private final MappedAreas areas;

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

  /** The bytes before the write offset that were not posted. */
  private int waiting;

  /** Whether a mapped write must wait for the bytes before it. */
  private boolean isMappedWaiting;

  /** Whether the memory for an entry of the peer's table is in use. */
  private boolean isTelling;

  OutputRing(
      Sizes sizes,
      StreamMemory memory,
      StreamRequests requests,
      StreamState state,
      MappedAreas areas) {
    this.sizes = sizes;
    this.memory = memory;
    this.requests = requests;
    this.state = state;
    this.areas = areas;
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
  void completed(int operation, int bytes) {
    freeRequests++;
    freeBytes += bytes;
    isTelling &= operation != RsocketMessage.AREA;
  }

  boolean isWritable() {
    return state.isConnected()
        && freeBytes >= Math.min(LEAST_FREE, sizes.sendBuffer())
        && (!isMappedWaiting || canWriteMapped());
  }

  private boolean canWriteMapped() {
    return waiting == 0 && freeRequests > 0;
  }

  /** Returns whether the next bytes are posted at once. */
  boolean isFlowing() {
    return waiting == 0 && isWritable() && canPost() && !areas.hasUntold() && !isScarce();
  }

  /** Returns whether bytes wait to be posted. */
  boolean isWaiting() {
    return waiting > 0;
  }

  /** Returns whether bytes wait for a request to complete, and not only for the peer. */
  boolean isWaitingForRequest() {
    return waiting > 0 && (freeRequests == 0 || isTelling);
  }

  private boolean canPost() {
    return state.isConnected()
        && freeRequests > 0
        && sent != allowed
        && targets[target].length() > 0;
  }

  private int messagesLeft() {
    return (allowed - sent) & 0xffff;
  }

  /**
   * Returns whether the peer has not processed most of the messages that it granted. It grants more
   * when it has processed half of them: by events, rdma-core's rsockets as its program reads.
   */
  private boolean isScarce() {
    return messagesLeft() < peer.credits() / SCARCE;
  }

  /** Returns whether bytes wait for more, so that the messages suffice for the granted memory. */
  private boolean waitsForMore() {
    return isScarce()
        && !isMappedWaiting
        && !state.isOutputShut()
        && waiting < Math.min(targets[target].length() / messagesLeft(), sizes.sendBuffer() / 2);
  }

  /**
   * Returns how many of the bytes there is room for.
   *
   * @param mapped the memory that the peer has mapped, for bytes that are not of the stream
   */
  int room(int wanted, StreamMemory.@Nullable Target mapped) {
    isMappedWaiting = mapped != null && !canWriteMapped();
    if (isMappedWaiting) {
      flush();
      return 0;
    }
    int room = Math.min(wanted, freeBytes);
    return mapped == null ? room : (int) Math.min(room, mapped.length());
  }

  /** Returns how many of the bytes there is room for without a gap. */
  int contiguous(int count) {
    return Math.min(count, sizes.sendBuffer() - writeOffset);
  }

  /** Sends bytes inline, as many as are granted; returns their number. */
  int sendInline(ByteBuffer source, int most) {
    int count = (int) Math.min(most, targets[target].length());
    requests.setInlineData(source, count);
    postData(StreamRequests.INLINE_DATA, count, 0);
    return count;
  }

  /** Copies bytes to the end of the ring, by the thread that sends. */
  void copy(ByteBuffer source, int count) {
    memory.sendBuffer().put(writeOffset, source, source.position(), count);
  }

  /** Appends the bytes that were copied. */
  void append(int count) {
    occupy(count);
    waiting += count;
    flush();
  }

  /** Writes the bytes that were copied to memory that the peer has mapped. */
  void write(int count, StreamMemory.Target mapped) {
    SendList list = requests.list();
    list.local(StreamRequests.WRITE, memory.sendRegion(), writeOffset, count);
    list.remote(StreamRequests.WRITE, mapped.address(), mapped.key());
    occupy(count);
    postCounted(StreamRequests.WRITE, RsocketMessage.MAPPED_WRITE, count);
  }

  private void occupy(int count) {
    freeBytes -= count;
    writeOffset = (writeOffset + count) % sizes.sendBuffer();
  }

  /** Posts what waits, as far as it is granted; the peer is told of mapped areas before. */
  void flush() {
    while (waiting > 0 && canPost()) {
      if (areas.hasUntold()) {
        if (isTelling) {
          return;
        }
        tell(areas.nextUntold());
      } else if (waitsForMore()) {
        return;
      } else {
        postWaiting();
      }
    }
  }

  /** Drops what waits. */
  void drop() {
    waiting = 0;
  }

  private void postWaiting() {
    int from = Math.floorMod(writeOffset - waiting, sizes.sendBuffer());
    int most = Math.min(Math.min(waiting, LARGEST_MESSAGE), sizes.sendBuffer() - from);
    int count = (int) Math.min(most, targets[target].length());
    requests.list().local(StreamRequests.DATA, memory.sendRegion(), from, count);
    waiting -= count;
    postData(StreamRequests.DATA, count, count);
  }

  /** Writes to the table of the peer that an area is mapped. */
  private void tell(MappedAreas.Area area) {
    peer.putArea(
        memory.sendBuffer(),
        memory.areaPlace(),
        area.offset(),
        area.region().start(),
        area.region().rkey(),
        (int) Math.min(area.region().length(), 0xffff_ffffL));
    SendList list = requests.list();
    list.local(
        StreamRequests.AREA, memory.sendRegion(), memory.areaPlace(), StreamMemory.AREA_SIZE);
    list.immediate(StreamRequests.AREA, RsocketMessage.of(RsocketMessage.AREA, area.index()));
    long table = peer.table().address() + (long) peer.table().length() * ConnectionData.SGE_SIZE;
    list.remote(
        StreamRequests.AREA,
        table + (long) area.index() * StreamMemory.AREA_SIZE,
        peer.table().key());
    isTelling = true;
    sent++;
    postCounted(StreamRequests.AREA, RsocketMessage.AREA, 0);
  }

  /** Posts data to the receive buffer of the peer. */
  private void postData(int request, int count, int bytes) {
    StreamMemory.Target to = targets[target];
    SendList list = requests.list();
    list.immediate(request, RsocketMessage.of(RsocketMessage.DATA, count));
    list.remote(request, to.address(), to.key());
    to.advance(count);
    if (to.length() == 0) {
      target = 1 - target;
    }
    sent++;
    postCounted(request, RsocketMessage.DATA, bytes);
  }

  /** Posts a request that occupies bytes of the send buffer until it completes. */
  private void postCounted(int request, int operation, int bytes) {
    freeRequests--;
    requests.post(request, operation, bytes);
  }
}
