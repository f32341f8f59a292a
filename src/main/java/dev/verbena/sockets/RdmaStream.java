package dev.verbena.sockets;

import dev.verbena.VerbsException;
import dev.verbena.cm.ConnectionId;
import dev.verbena.internal.foreign.AfterFailure;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.time.ScopedLock;
import dev.verbena.internal.time.Time;
import dev.verbena.verbs.ProtectionDomain;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One end of an rsocket connection: a stream of bytes over an RC queue pair, by the protocol of
 * librdmacm ({@code rsocket.c}).
 *
 * <p><b>Data.</b> Each end has a receive buffer, a ring of two halves. The other end writes data
 * there by RDMA WRITE WITH IMMEDIATE, whose immediate data is the length. When half of the ring has
 * been read, its owner grants it again: it writes an SGE to the table of the other end. What is not
 * granted waits in the send buffer, and is sent when an event shows that it can be: no call of the
 * program is needed.
 *
 * <p><b>Credits.</b> A message consumes a receive request. Each end may send as many messages as
 * the other has granted, as a 16-bit number of the last message. The messages of control (grants,
 * the end of the stream) are not counted: at most {@value Sizes#CONTROL_MESSAGES} of them are
 * outstanding, and each end has posted so many receive requests more.
 *
 * <p>Methods do not wait, but for {@link #await}. One thread at a time receives and one sends;
 * others may do everything else.
 */
final class RdmaStream {
  /** The result of a transfer that would have to wait. */
  static final int UNAVAILABLE = -2;

  /** The result at the end of the stream. */
  static final int END = -1;

  /** An operation for {@link #await} and {@link #ready}. */
  static final int RECEIVE = 1;

  /** An operation for {@link #await} and {@link #ready}. */
  static final int SEND = 2;

  /** What the JDK's channels say of a TCP connection that the peer has reset. */
  private static final String RESET = "Connection reset";

  /** The size of the first message of a transfer; each following one is twice as large. */
  private static final int FIRST_TRANSFER = 2048;

  private static final int LARGEST_TRANSFER = 1 << 16;

  /**
   * How long a thread polls before it waits for an event: as librdmacm, but not at all if a thread
   * that polls would take the processor from the one that it waits for.
   */
  private static final long SPIN_NANOS =
      TimeUnit.MICROSECONDS.toNanos(
          Integer.getInteger(
              "dev.verbena.sockets.spin", Runtime.getRuntime().availableProcessors() > 2 ? 10 : 0));

  /** How long an orderly end may take once all data is posted. */
  static final long LONGEST_CLOSE = TimeUnit.SECONDS.toNanos(10);

  /** How long closing waits for threads that copy; as closing of other objects waits for calls. */
  private static final long LONGEST_COPY = TimeUnit.SECONDS.toNanos(30);

  private final String name;
  private final StreamQueues queues;
  private final StreamMemory memory;

  /**
   * Ends the stream before one of its objects is closed: by the program, which can get them from
   * asynchronous events, or with the context.
   */
  private final Core life;

  private final ScopedLock lock = new ScopedLock();

  // All that follows is guarded by the lock.

  private final StreamEvents events;
  private final StreamState state;
  private final StreamRequests requests;
  private final ControlMessages control;
  private final InputRing input;
  private final Grants grants;
  private final OutputRing output;
  private final MappedAreas areas;
  private final StreamMemory.Target area = new StreamMemory.Target();
  private final CopyingThreads copying = new CopyingThreads(lock);
  private final StreamProtocol protocol;
  private final PendingOutput pending;

  /** What must be done before the descriptor is closed. */
  private Runnable beforeRelease = () -> {};

  /**
   * Creates the queue pair of an identifier that has a device, with its receive requests posted.
   *
   * @param failed is called in a thread of its own after a failure
   * @param flushed is called once, in a thread of its own, if requests are flushed without another
   *     error: it has the pending events of RDMA CM received, and then calls {@link #endFlushed}
   * @param changed is called after a thread of the stream has read events of the descriptor
   * @throws VerbsException if the device has no memory or objects left
   */
  RdmaStream(ConnectionId id, Sizes wanted, Runnable failed, Runnable flushed, Runnable changed) {
    ProtectionDomain domain = id.domain();
    Sizes sizes = wanted.within(id.context().deviceAttributes().maxQueuePairRequests());
    queues = new StreamQueues(id, sizes);
    StreamMemory made = null;
    try {
      made = new StreamMemory(domain, sizes);
      name = "rsocket stream over " + queues.queuePair();
      events = new StreamEvents(queues, lock);
      state = new StreamState(name, events, failed, flushed);
      requests = new StreamRequests(queues.queuePair(), state, sizes.inline());
      control = new ControlMessages(requests, state);
      input = new InputRing(made.receiveBuffer(), sizes.receiveBuffer());
      grants = new Grants(sizes, made, input, requests, control);
      areas = new MappedAreas(domain);
      output = new OutputRing(sizes, made, requests, state, areas);
      protocol = new StreamProtocol(sizes, queues, events, state, control, input, grants, output);
      pending = new PendingOutput(lock, state, events, protocol, changed);
      life =
          Core.borrow(
              List.of(domain, queues.sends(), queues.receives(), queues.queuePair()),
              0,
              core -> {
                core.owner(this);
                core.beforeClose(this::stop);
                return core;
              });
    } catch (Throwable t) {
      AfterFailure.close(t, queues::close);
      if (made != null) {
        AfterFailure.close(t, made::close);
      }
      throw t;
    }
    memory = made;
  }

  /** Returns the private data for the peer. */
  byte[] describe() {
    return memory.describe().toBytes();
  }

  /** Sets what the peer has told of itself. */
  void begin(ConnectionData data) {
    try (var _ = lock.hold()) {
      grants.begin(data);
      output.begin(data);
      areas.begin(data.areas());
    }
  }

  /**
   * Returns the descriptor that is readable when a completion queue has an event; -1 if it is
   * closed, or about to be.
   */
  int descriptor() {
    try (var _ = lock.hold()) {
      return state.isReleased() ? -1 : events.descriptor();
    }
  }

  /** Sets what must be done before the descriptor is closed. */
  void beforeRelease(Runnable action) {
    try (var _ = lock.hold()) {
      beforeRelease = action;
    }
  }

  // Receiving

  /**
   * Receives what is there.
   *
   * @return the number of bytes; {@link #UNAVAILABLE}, or {@link #END}
   * @throws SocketException if the connection has failed, and all that had arrived was received
   */
  int receive(ByteBuffer buffer) throws IOException {
    int count;
    try (var _ = lock.hold()) {
      if (input.available() == 0) {
        boolean _ = protocol.process();
      }
      count = Math.min(input.available(), buffer.remaining());
      if (count == 0 || state.isReleased() || state.isClosing()) { // A close takes it for unread.
        if (!buffer.hasRemaining()) {
          return 0;
        }
        return state.isAtEnd() ? END : UNAVAILABLE;
      }
      input.beginReading(count);
      copying.enter();
    }
    boolean isCopied = false;
    try {
      input.copyTo(buffer, count);
      isCopied = true;
    } finally {
      endReceiving(isCopied ? count : 0);
    }
    return count;
  }

  private void endReceiving(int count) {
    try (var _ = lock.hold()) {
      copying.leave();
      input.endReading(count);
      if (state.isInputShut()) {
        input.discard();
      }
      protocol.advance();
    }
  }

  /** Returns the number of bytes that can be received without waiting. */
  int available() {
    try (var _ = lock.hold()) {
      boolean _ = protocol.process();
      return input.available();
    }
  }

  // Sending

  /**
   * Sends as much as there is room for in the send buffer. The caller then calls {@link #sent}.
   *
   * @return the number of bytes, or {@link #UNAVAILABLE}
   * @throws SocketException if the connection has ended or failed
   */
  int send(ByteBuffer buffer) throws IOException {
    return sendAll(buffer, false, 0);
  }

  /**
   * Writes to memory that the peer has mapped, as much as there is room for.
   *
   * @return the number of bytes, or {@link #UNAVAILABLE}
   * @throws SocketException if the peer has mapped no memory at the offset, or the connection has
   *     ended or failed
   */
  int sendMapped(ByteBuffer buffer, long offset) throws IOException {
    return sendAll(buffer, true, offset);
  }

  private int sendAll(ByteBuffer buffer, boolean isMapped, long offset) throws IOException {
    int total = 0;
    int largest = FIRST_TRANSFER;
    while (buffer.hasRemaining()) {
      int most = Math.min(buffer.remaining(), largest);
      int count = sendOnce(buffer, most, isMapped ? findArea(offset + total) : null);
      if (count == 0) {
        return total == 0 ? UNAVAILABLE : total;
      }
      total += count;
      largest = Math.min(2 * largest, LARGEST_TRANSFER);
    }
    return total;
  }

  private StreamMemory.Target findArea(long offset) throws IOException {
    try (var _ = lock.hold()) {
      state.requireWritable();
      if (offset < 0 || !memory.find(offset, area)) {
        throw new SocketException(
            "the peer has mapped no memory at offset "
                + offset
                + ", or its message about the mapping has not arrived yet");
      }
      return area;
    }
  }

  /** Sends no more than a number of bytes, or lets them wait; returns their number. */
  private int sendOnce(ByteBuffer buffer, int most, StreamMemory.@Nullable Target mapped)
      throws IOException {
    int count;
    try (var _ = lock.hold()) {
      if (state.isClosing()) {
        return 0;
      }
      state.requireWritable();
      if (!output.isFlowing()) {
        boolean _ = protocol.process();
        state.requireWritable();
      }
      count = state.isConnected() ? output.room(most, mapped) : 0;
      if (count == 0) {
        return 0;
      }
      if (count <= requests.inline() && mapped == null && output.isFlowing()) {
        count = output.sendInline(buffer, count);
        buffer.position(buffer.position() + count);
        return count;
      }
      count = output.contiguous(count);
      copying.enter();
    }
    boolean isCopied = false;
    try {
      output.copy(buffer, count);
      isCopied = true;
    } finally {
      lock.lock();
      copying.leave();
      if (!isCopied) {
        lock.unlock();
      }
    }
    try {
      if (state.isClosing() || state.isFlushed()) {
        return 0;
      }
      state.requireWritable();
      if (mapped == null) {
        output.append(count);
      } else {
        output.write(count, mapped);
      }
    } finally {
      lock.unlock();
    }
    buffer.position(buffer.position() + count);
    return count;
  }

  /** Returns whether bytes that were sent wait for the peer. */
  boolean isWaiting() {
    try (var _ = lock.hold()) {
      return output.isWaiting();
    }
  }

  /** The bytes that were sent, and wait, go on by events. The thread that sends calls it. */
  void sent() {
    if (output.isWaiting()) { // As this thread has left it, or less: others only send from it.
      try (var _ = lock.hold()) {
        pending.called();
      }
    }
  }

  // Mapped areas

  /** Lets the peer write to memory, of which it is told with the next data. */
  void map(MemorySegment segment, long offset) throws IOException {
    try (var _ = lock.hold()) {
      state.requireWritable();
      areas.add(segment, offset);
    }
  }

  /** Ends the access of the peer to memory. */
  void unmap(MemorySegment segment) throws IOException {
    try (var _ = lock.hold()) {
      areas.remove(segment);
    }
  }

  // Control

  /** The pending events of RDMA CM were received. Unless one has ended the stream, it fails. */
  void endFlushed() {
    try (var _ = lock.hold()) {
      boolean _ = protocol.process(); // A completion may have the cause.
      state.endFlushed();
    }
    events.wake(); // No further completion need follow.
  }

  /** Returns {@link StreamProtocol#silence}. */
  long silence() {
    try (var _ = lock.hold()) {
      return protocol.silence();
    }
  }

  /** Sends an empty write, which the peer's device acknowledges. */
  void keepAlive() {
    try (var _ = lock.hold()) {
      protocol.keepAlive();
    }
  }

  /** Fails the connection, whose peer cannot be reached any more. */
  void fail(String why) {
    try (var _ = lock.hold()) {
      state.fail(why);
    }
  }

  /** Returns which of the operations would not wait now; arms the queues for the others. */
  int ready(int operations) {
    try (var _ = lock.hold()) {
      int ready = examine(operations);
      pending.called();
      return ready;
    }
  }

  private int examine(int operations) {
    boolean hasMore;
    int ready;
    do {
      hasMore = protocol.process();
      ready = readyNow() & operations;
    } while (ready != operations
        && !state.isReleased()
        && (protocol.arm((operations & ~ready & SEND) != 0) || hasMore));
    return ready;
  }

  private int readyNow() {
    boolean isOver = state.hasEnded() || state.isClosing();
    boolean canReceive = input.available() != 0 || state.hasInputEnded() || state.isClosing();
    boolean canSend = state.isOutputShut() || output.isWritable() || isOver;
    return (canReceive ? RECEIVE : 0) | (canSend ? SEND : 0);
  }

  /** Reads the events of the descriptor, which was readable. */
  void readEvents() {
    try (var _ = lock.hold()) {
      boolean _ = protocol.readEvents();
      pending.called();
    }
  }

  /**
   * Waits until one of the operations is ready, the time is over, or the stream is closed. May
   * return earlier, in particular when the thread is interrupted.
   */
  void await(int operations, long nanos) {
    long deadline = nanos == Long.MAX_VALUE ? nanos : Time.now() + nanos;
    lock.lock();
    try {
      spin(operations);
      while (!state.isClosing()
          && examine(operations) == 0
          && !Thread.currentThread().isInterrupted()) {
        long left = nanos == Long.MAX_VALUE ? nanos : deadline - Time.now();
        if (left <= 0) {
          return;
        }
        events.await(left);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (VerbsException | IllegalStateException e) {
      state.fail(e);
    } finally {
      pending.called();
      lock.unlock();
    }
  }

  @SuppressWarnings("ThreadPriorityCheck") // A virtual thread yields to others, not by chance.
  private void spin(int operations) {
    if (SPIN_NANOS == 0) {
      return;
    }
    long start = Time.now();
    while (!state.isClosing() && Time.now() - start < SPIN_NANOS) {
      boolean _ = protocol.process();
      if ((readyNow() & operations) != 0) {
        return;
      }
      lock.unlock();
      try {
        if (Thread.currentThread().isVirtual()) {
          Time.yieldProcessor(); // What it waits for may need this carrier.
        }
        Time.pause();
      } finally {
        lock.lock();
      }
    }
  }

  // The end

  /** Makes the stream read its end from now on. Data that comes is discarded. */
  void shutInput() {
    try (var _ = lock.hold()) {
      state.shutInput();
      input.discard();
      protocol.advance();
      pending.watch();
    }
    events.wake();
  }

  /** Tells the peer that no data follows, after those that wait. */
  void shutOutput() {
    try (var _ = lock.hold()) {
      if (!state.isClosing()) { // A close may have dropped data.
        state.shutOutput();
        control.setPending(
            state.isInputEnded() ? RsocketMessage.DISCONNECT : RsocketMessage.SHUTDOWN);
        boolean _ = protocol.process();
        pending.watch();
      }
    }
    events.wake();
  }

  /**
   * RDMA CM has told the end of the connection. A peer that ends in order sends a message of the
   * stream before, which can still be late; without one it has aborted the connection, or was
   * killed.
   *
   * @param isOrderly whether the peer ended before the connection was established there
   */
  void disconnected(boolean isOrderly) {
    try (var _ = lock.hold()) {
      if (!state.isReleased()) {
        protocol.processAll();
        if (state.isInputEnded() || isOrderly) {
          state.endInput();
          state.disconnect();
        } else {
          state.fail(RESET);
        }
      }
    }
    events.wake();
  }

  /** No request is flushed: the queue pair could not be modified, or has no device any more. */
  void notFlushed() {
    try (var _ = lock.hold()) {
      protocol.processAll();
      state.drain();
    }
    events.wake();
  }

  /**
   * Begins the end. An orderly end tells the peer that the connection ends, after all data. If data
   * was received that nobody has read, or if the connection is aborted, the peer is not told, and
   * so takes the end for a reset, as of a TCP connection.
   *
   * @return whether the end is orderly
   */
  boolean beginClose(boolean isAbort) {
    boolean isOrderly;
    try (var _ = lock.hold()) {
      protocol.processAll();
      isOrderly = !isAbort && (state.isInputShut() || !input.hasUnread());
      state.close();
      if (isOrderly) {
        control.setPending(RsocketMessage.DISCONNECT);
      } else {
        control.dropPending();
        output.drop();
      }
    }
    events.wake();
    return isOrderly;
  }

  /**
   * Continues the orderly end, by events.
   *
   * @param ended is called when the peer's device has acknowledged all data
   */
  void continueClose(Runnable ended) {
    try (var _ = lock.hold()) {
      state.whenEnded(ended);
      boolean _ = protocol.readEvents();
      boolean _ = protocol.process();
      pending.watch();
    }
  }

  /** Destroys the queue pair with its identifier, and frees the memory. */
  void release(ConnectionId id) {
    try (var _ = lock.hold()) {
      state.close();
      state.disconnect();
    }
    life.close();
    try (memory;
        queues;
        areas) { // Each is closed, whether others can be or not; the last one first.
      id.close();
    }
  }

  /**
   * Ends all use of the queues and of the memory, before they are closed.
   *
   * @throws IllegalStateException if a thread still copies: nothing is closed then
   */
  private void stop() {
    Runnable last;
    try (var _ = lock.hold()) {
      state.fail(new IllegalStateException("an object of its device was closed"));
      state.release();
      events.signal();
      copying.awaitNone(LONGEST_COPY);
      last = beforeRelease;
    }
    events.stop();
    last.run();
  }

  @Override
  public String toString() {
    return name;
  }
}
