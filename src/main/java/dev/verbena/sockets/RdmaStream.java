package dev.verbena.sockets;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.attributes.TransportType;
import dev.verbena.cm.ConnectionId;
import dev.verbena.internal.life.Core;
import dev.verbena.values.CompletionFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * One end of an rsocket connection: a stream of bytes over an RC queue pair, by the protocol of
 * librdmacm ({@code rsocket.c}).
 *
 * <p><b>Data.</b> Each end has a receive buffer, a ring of two halves. The other end writes data
 * there by RDMA WRITE WITH IMMEDIATE, whose immediate data is the length. When half of the ring has
 * been read, its owner grants it again: it writes an SGE to the table of the other end.
 *
 * <p><b>Credits.</b> A message consumes a receive request. Each end may send as many messages as
 * the other has granted, as a 16-bit number of the last message. The messages of control (grants,
 * the end of the stream) are not counted: at most {@value #CONTROL_MESSAGES} of them are
 * outstanding, and each end has posted so many receive requests more.
 *
 * <p><b>The peer is not believed:</b> it can write to the receive buffer and to its tables, and
 * nowhere else. A message that is longer than what was granted, or that the protocol does not have,
 * ends the connection.
 *
 * <p>Methods do not wait, but for {@link #await}. One thread at a time receives and one sends;
 * others may do everything else.
 */
final class RdmaStream {
  /** The result of a transfer that would have to wait. */
  static final int UNAVAILABLE = -2;

  /** The result at the end of the stream. */
  static final int END = -1;

  /** The control messages that may be outstanding: {@code RS_QP_CTRL_SIZE}. */
  static final int CONTROL_MESSAGES = 4;

  /** An operation for {@link #await} and {@link #ready}. */
  static final int RECEIVE = 1;

  /** An operation for {@link #await} and {@link #ready}. */
  static final int SEND = 2;

  // The operation of a message: the upper 3 bits of the immediate data.
  static final int DATA = 0;
  static final int MAPPED_WRITE = 2; // Is not transmitted.
  static final int GRANT = 4;
  static final int AREA = 6;
  static final int CONTROL = 7;

  // The values of a control message.
  static final int DISCONNECT = 0;
  static final int KEEPALIVE = 1;
  static final int SHUTDOWN = 2;

  private static final int NONE = -1;

  /** What the JDK's channels say of a TCP connection that the peer has reset. */
  private static final String RESET = "Connection reset";

  private static final int OPERATION_SHIFT = 29;
  private static final int VALUE_MASK = (1 << OPERATION_SHIFT) - 1;

  /** The size of the first message of a transfer; each following one is twice as large. */
  private static final int FIRST_TRANSFER = 2048;

  private static final int LARGEST_TRANSFER = 1 << 16;

  /** A stream is writable if so much of the send buffer is free. */
  private static final int LEAST_FREE = 2048;

  /**
   * How long a thread polls before it waits for an event: as librdmacm, but not at all if a thread
   * that polls would take the processor from the one that it waits for.
   */
  private static final long SPIN_NANOS =
      TimeUnit.MICROSECONDS.toNanos(
          Integer.getInteger(
              "dev.verbena.sockets.spin", Runtime.getRuntime().availableProcessors() > 2 ? 10 : 0));

  /** How long an orderly end may take, unless SO_LINGER sets another time. */
  static final long LONGEST_CLOSE = TimeUnit.SECONDS.toNanos(10);

  /** How long closing waits for threads that copy; as closing of other objects waits for calls. */
  private static final long LONGEST_COPY = TimeUnit.SECONDS.toNanos(30);

  /** Completions of one poll, and receive requests of one post. */
  private static final int BATCH = 32;

  // The requests of the list.
  private static final int DATA_REQUEST = 0;
  private static final int INLINE_DATA_REQUEST = 1;
  private static final int GRANT_REQUEST = 2;
  private static final int MESSAGE_REQUEST = 3;
  private static final int WRITE_REQUEST = 4;
  private static final int AREA_REQUEST = 5;
  private static final int KEEPALIVE_REQUEST = 6;
  private static final int REQUESTS = 7;

  /** How the other end ended, or this end. */
  private enum State {
    CONNECTED,

    /**
     * The queue pair is in the state ERR, and nothing can be sent. Whether the connection ended in
     * order is not known before the pending events of RDMA CM are received.
     */
    FLUSHED,

    DISCONNECTED,
    FAILED
  }

  private final StreamEvents events;
  private final CompletionQueue sends;
  private final CompletionQueue receives;
  private final QueuePair queuePair;
  private final ProtectionDomain domain;
  private final Sizes sizes;
  private final int inline;
  private final StreamMemory memory;

  /**
   * Ends the stream before one of its objects is closed: by the program, which can get them from
   * asynchronous events, or with the context.
   */
  private Core life;

  /** The peer's tables of SGEs and areas. */
  private ConnectionData peer;

  private final ReentrantLock lock = new ReentrantLock();

  // All that follows is guarded by the lock.

  private final SendList requests;
  private final ByteBuffer inlineData;
  private final ReceiveList receiveRequests = new ReceiveList(BATCH, 1);
  private final Completions completions = new Completions(BATCH);
  private State state = State.CONNECTED;

  /** Why the connection failed. */
  private @Nullable String failure;

  private boolean isInputEnded;
  private boolean isInputShut;

  /** The number of bytes that a thread copies from the receive buffer. */
  private int reading;

  private boolean isOutputShut;
  private boolean isDisconnectSent;

  // Receiving. The numbers of bytes and messages overflow without harm.
  private int received;
  private int consumed;
  private int granted;
  private int freed;
  private int freeOffset;
  private int peerEntry = 1;
  private short messages;
  private short nextGrant;
  private int readOffset;

  // Sending.
  private final StreamMemory.Target[] targets = {
    new StreamMemory.Target(), new StreamMemory.Target()
  };
  private int target;
  private int nextTarget = 1;
  private short sent;
  private short allowed;
  private int controlOutstanding;
  private int controlIndex;

  /** The control message that is to be sent as soon as possible, or {@link #NONE}. */
  private int pendingControl = NONE;

  private int freeRequests;
  private int freeBytes;
  private int writeOffset;

  private final MappedAreas areas = new MappedAreas();
  private final StreamMemory.Target area = new StreamMemory.Target();

  private final CopyingThreads copying = new CopyingThreads(lock);

  private boolean isReleased;
  private boolean isClosing;

  /** What must be done before the descriptor is closed. */
  private Runnable beforeRelease = () -> {};

  private final Runnable failed;
  private final Runnable flushed;
  private final Runnable changed;

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
    this.failed = failed;
    this.flushed = flushed;
    this.changed = changed;
    if (id.context().device().transportType() == TransportType.IWARP) {
      throw new VerbsException(
          "rdma_create_qp",
          Errno.EOPNOTSUPP,
          "RDMA sockets need RDMA write with immediate data, which iWARP does not have: "
              + id.context().device());
    }
    domain = id.domain();
    sizes = wanted.within(id.context().deviceAttributes().maxQueuePairRequests());
    CompletionChannel channel = null;
    CompletionQueue sendQueue = null;
    CompletionQueue receiveQueue = null;
    StreamMemory made = null;
    boolean isMade = false;
    try {
      channel = id.context().createCompletionChannel();
      sendQueue = id.context().completionQueue(sizes.sends()).channel(channel).create();
      int posted = sizes.receives() + CONTROL_MESSAGES;
      receiveQueue = id.context().completionQueue(posted).channel(channel).create();
      queuePair =
          id.queues()
              .createQueuePair(
                  domain
                      .queuePair(QueuePairType.RC)
                      .sendCompletions(sendQueue)
                      .receiveCompletions(receiveQueue)
                      .capacity(
                          QueuePairCapacity.of(sizes.sends())
                              .withReceiveRequests(posted)
                              .withMaxInlineData(sizes.inline()))
                      .signalAll());
      inline = Math.min(sizes.inline(), queuePair.capacity().maxInlineData());
      made = new StreamMemory(domain, sizes);
      events = new StreamEvents(channel, sendQueue, receiveQueue, lock);
      sends = sendQueue;
      receives = receiveQueue;
      memory = made;
      requests = formatted(inline);
      inlineData = requests.inlineData(INLINE_DATA_REQUEST).asByteBuffer();
      freeRequests = sizes.sends() - CONTROL_MESSAGES;
      freeBytes = sizes.sendBuffer();
      freed = sizes.receiveBuffer() / 2;
      freeOffset = freed;
      granted = freed;
      nextGrant = (short) (sizes.receives() / 2);
      peer = memory.describe(); // Until it is known.
      postReceives(posted);
      RdmaStream _ =
          Core.borrow(
              List.of(domain, sendQueue, receiveQueue, queuePair),
              0,
              core -> {
                core.owner(this);
                core.beforeClose(this::stop);
                life = core;
                return this;
              });
      isMade = true;
    } finally {
      if (!isMade) {
        id.queues().queuePair().ifPresent(QueuePair::close);
        close(sendQueue, receiveQueue, channel, made);
      }
    }
  }

  private static void close(@Nullable AutoCloseable... all) {
    for (AutoCloseable resource : all) {
      if (resource != null) {
        try {
          resource.close();
        } catch (RuntimeException e) {
          throw e;
        } catch (Exception e) {
          throw new AssertionError(e);
        }
      }
    }
  }

  private static SendList formatted(int inline) {
    SendList list = new SendList(REQUESTS, 1, Math.max(inline, 1));
    list.writeWithImmediate(DATA_REQUEST, 0);
    list.writeWithImmediate(INLINE_DATA_REQUEST, 0).inline(0);
    list.writeWithImmediate(GRANT_REQUEST, 0);
    list.writeWithImmediate(MESSAGE_REQUEST, 0);
    list.write(WRITE_REQUEST);
    list.writeWithImmediate(AREA_REQUEST, 0);
    list.write(KEEPALIVE_REQUEST);
    return list;
  }

  /** Returns the private data for the peer. */
  byte[] describe() {
    return memory.describe().toBytes();
  }

  /** Sets what the peer has told of itself. */
  void begin(ConnectionData data) {
    lock.lock();
    try {
      peer = data;
      targets[0].set(data.buffer().address(), data.buffer().key(), data.buffer().length());
      allowed = (short) data.credits();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Returns the descriptor that is readable when a completion queue has an event; -1 if it is
   * closed, or about to be.
   */
  int descriptor() {
    lock.lock();
    try {
      return isReleased ? -1 : events.descriptor();
    } finally {
      lock.unlock();
    }
  }

  /** Sets what must be done before the descriptor is closed. */
  void beforeRelease(Runnable action) {
    lock.lock();
    try {
      beforeRelease = action;
    } finally {
      lock.unlock();
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
    lock.lock();
    try {
      if (received == consumed) {
        boolean _ = process();
      }
      count = Math.min(received - consumed, buffer.remaining());
      if (count == 0 || isReleased) {
        return buffer.hasRemaining() ? endOrUnavailable() : 0;
      }
      reading = count;
      copying.enter();
    } finally {
      lock.unlock();
    }
    boolean isCopied = false;
    try {
      copyFromRing(buffer, count);
      isCopied = true;
    } finally {
      lock.lock();
      try {
        reading = 0;
        copying.leave();
        if (isCopied) {
          consume(count);
        }
        if (isInputShut) {
          discard();
        }
        giveCredits();
      } finally {
        lock.unlock();
      }
    }
    return count;
  }

  private int endOrUnavailable() throws IOException {
    if (isInputEnded || isInputShut) {
      return END;
    } else if (failure != null) {
      throw new SocketException(failure);
    }
    return hasInputEnded() ? END : UNAVAILABLE;
  }

  private boolean hasInputEnded() {
    return isInputEnded || isInputShut || hasEnded() || isReleased;
  }

  private boolean hasEnded() {
    return state == State.DISCONNECTED || state == State.FAILED;
  }

  private void copyFromRing(ByteBuffer buffer, int count) {
    ByteBuffer ring = memory.receiveBuffer();
    int first = Math.min(count, sizes.receiveBuffer() - readOffset);
    int position = buffer.position();
    buffer.put(position, ring, readOffset, first);
    buffer.put(position + first, ring, 0, count - first);
    buffer.position(position + count);
  }

  private void consume(int count) {
    consumed += count;
    freed += count;
    readOffset = (readOffset + count) % sizes.receiveBuffer();
  }

  /** Consumes what nobody reads; a read in progress does it when it has copied its part. */
  private void discard() {
    if (reading == 0) {
      consume(received - consumed);
    }
  }

  /** Returns the number of bytes that can be received without waiting. */
  int available() {
    lock.lock();
    try {
      boolean _ = process();
      return received - consumed;
    } finally {
      lock.unlock();
    }
  }

  // Sending

  /**
   * Sends as much as there is room for.
   *
   * @return the number of bytes, or {@link #UNAVAILABLE}
   * @throws SocketException if the connection has ended or failed
   */
  int send(ByteBuffer buffer) throws IOException {
    int total = 0;
    int largest = FIRST_TRANSFER;
    while (buffer.hasRemaining()) {
      int count = sendOnce(buffer, Math.min(buffer.remaining(), largest), null);
      if (count == 0) {
        return total == 0 ? UNAVAILABLE : total;
      }
      total += count;
      largest = Math.min(2 * largest, LARGEST_TRANSFER);
    }
    return total;
  }

  /**
   * Writes to memory that the peer has mapped, as much as there is room for.
   *
   * @return the number of bytes, or {@link #UNAVAILABLE}
   * @throws SocketException if the peer has mapped no memory at the offset, or the connection has
   *     ended or failed
   */
  int sendMapped(ByteBuffer buffer, long offset) throws IOException {
    int total = 0;
    int largest = FIRST_TRANSFER;
    while (buffer.hasRemaining()) {
      StreamMemory.Target found = findArea(offset + total);
      int most = (int) Math.min(found.length(), Math.min(buffer.remaining(), largest));
      int count = sendOnce(buffer, most, found);
      if (count == 0) {
        return total == 0 ? UNAVAILABLE : total;
      }
      total += count;
      largest = Math.min(2 * largest, LARGEST_TRANSFER);
    }
    return total;
  }

  private StreamMemory.Target findArea(long offset) throws IOException {
    lock.lock();
    try {
      requireWritable();
      if (offset < 0 || !memory.find(offset, area)) {
        throw new SocketException(
            "the peer has mapped no memory at the offset " + offset + ", or not told it yet");
      }
      return area;
    } finally {
      lock.unlock();
    }
  }

  /** Sends one message, of no more than a number of bytes; returns the number, 0 for none. */
  private int sendOnce(ByteBuffer buffer, int most, StreamMemory.@Nullable Target mapped)
      throws IOException {
    int count;
    int at;
    lock.lock();
    try {
      if (isClosing) {
        return 0;
      }
      requireWritable();
      if (!canSend()) {
        boolean _ = process();
        requireWritable();
      }
      tellAreas();
      if (!canSend()) {
        return 0;
      }
      StreamMemory.Target to = mapped == null ? targets[target] : mapped;
      count = (int) Math.min(Math.min(most, freeBytes), to.length());
      if (count <= inline && mapped == null) {
        inlineData.put(0, buffer, buffer.position(), count);
        requests.inlineLength(INLINE_DATA_REQUEST, count);
        postData(INLINE_DATA_REQUEST, count);
        buffer.position(buffer.position() + count);
        return count;
      }
      at = writeOffset;
      count = Math.min(count, sizes.sendBuffer() - at);
      copying.enter();
    } finally {
      lock.unlock();
    }
    boolean isCopied = false;
    try {
      memory.sendBuffer().put(at, buffer, buffer.position(), count);
      isCopied = true;
    } finally {
      lock.lock();
      copying.leave();
      if (!isCopied) {
        lock.unlock();
      }
    }
    try {
      if (isClosing || state == State.FLUSHED) {
        return 0;
      }
      requireWritable();
      writeOffset = (at + count) % sizes.sendBuffer();
      if (mapped == null) {
        requests.local(DATA_REQUEST, memory.sendRegion(), at, count);
        postData(DATA_REQUEST, count);
      } else {
        requests.local(WRITE_REQUEST, memory.sendRegion(), at, count);
        requests.remote(WRITE_REQUEST, mapped.address(), mapped.key());
        postCounted(WRITE_REQUEST, MAPPED_WRITE, count);
      }
    } finally {
      lock.unlock();
    }
    buffer.position(buffer.position() + count);
    return count;
  }

  private void requireWritable() throws IOException {
    if (failure != null) {
      throw new SocketException(failure);
    }
    if (hasEnded()) {
      throw new SocketException(
          "the peer closed the connection, ended, or cannot be reached any more");
    }
    if (isOutputShut) {
      throw new ClosedChannelException();
    }
  }

  private boolean canSend() {
    return state == State.CONNECTED
        && freeRequests > 0
        && freeBytes >= Math.min(LEAST_FREE, sizes.sendBuffer())
        && sent != allowed
        && targets[target].length() > 0;
  }

  private static int message(int operation, int value) {
    return operation << OPERATION_SHIFT | value;
  }

  /** Posts data to the receive buffer of the peer. */
  private void postData(int request, int count) {
    StreamMemory.Target to = targets[target];
    requests.immediate(request, message(DATA, count));
    requests.remote(request, to.address(), to.key());
    to.advance(count);
    if (to.length() == 0) {
      target = 1 - target;
    }
    sent++;
    postCounted(request, DATA, count);
  }

  /** Posts a request that occupies bytes of the send buffer. */
  private void postCounted(int request, int operation, int bytes) {
    freeRequests--;
    freeBytes -= bytes;
    post(request, operation, bytes);
  }

  /** Posts a request that counts as a control message. */
  private void postControl(int request, int operation, int value) {
    controlOutstanding++;
    post(request, operation, value);
  }

  private void post(int request, int operation, int value) {
    requests.id(request, (long) operation << Integer.SIZE | value);
    try {
      if (queuePair.post(requests, request, 1) == 0) {
        fail("the send queue of the connection is full");
      }
    } catch (VerbsException | IllegalStateException e) {
      fail(e);
    }
  }

  // Mapped areas

  /** Lets the peer write to memory, of which it is told with the next data. */
  void map(MemorySegment segment, long offset) throws IOException {
    lock.lock();
    try {
      requireWritable();
      areas.add(domain, segment, offset, peer.areas());
    } finally {
      lock.unlock();
    }
  }

  /** Ends the access of the peer to memory. */
  void unmap(MemorySegment segment) throws IOException {
    lock.lock();
    try {
      areas.remove(segment);
    } finally {
      lock.unlock();
    }
  }

  /** Writes to the table of the peer which areas are mapped. */
  private void tellAreas() {
    while (areas.hasUntold() && canSend()) {
      MappedAreas.Area next = areas.nextUntold();
      int left = sizes.sendBuffer() - writeOffset;
      int skipped = left < StreamMemory.AREA_SIZE ? left : 0;
      int at = (writeOffset + skipped) % sizes.sendBuffer();
      ByteBuffer buffer = memory.sendBuffer();
      buffer.putLong(at, swapped(next.offset()));
      putSge(
          at + Long.BYTES,
          next.region().start(),
          next.region().rkey(),
          (int) Math.min(next.region().length(), 0xffff_ffffL));
      writeOffset = (at + StreamMemory.AREA_SIZE) % sizes.sendBuffer();
      requests.local(AREA_REQUEST, memory.sendRegion(), at, StreamMemory.AREA_SIZE);
      requests.immediate(AREA_REQUEST, message(AREA, next.index()));
      long table = peer.table().address() + (long) peer.table().length() * ConnectionData.SGE_SIZE;
      requests.remote(
          AREA_REQUEST, table + (long) next.index() * StreamMemory.AREA_SIZE, peer.table().key());
      sent++;
      postCounted(AREA_REQUEST, AREA, skipped + StreamMemory.AREA_SIZE);
    }
  }

  private long swapped(long value) {
    return peer.isOfOtherByteOrder() ? Long.reverseBytes(value) : value;
  }

  private int swapped(int value) {
    return peer.isOfOtherByteOrder() ? Integer.reverseBytes(value) : value;
  }

  /** Writes an SGE to the send buffer, in the byte order of the peer. */
  private void putSge(int at, long address, int key, int length) {
    memory
        .sendBuffer()
        .putLong(at, swapped(address))
        .putInt(at + Long.BYTES, swapped(key))
        .putInt(at + Long.BYTES + Integer.BYTES, swapped(length));
  }

  // Completions

  /**
   * Polls both queues, and grants what is due.
   *
   * @return whether the queues may have more completions
   */
  private boolean process() {
    if (isReleased) {
      return false;
    }
    try {
      giveCredits();
      boolean hasMore = pollReceives();
      pollSends();
      giveCredits();
      return hasMore;
    } catch (VerbsException | IllegalStateException e) {
      fail(e);
      return false;
    }
  }

  /** Processes what has arrived: no more messages than there are receive requests. */
  private void processAll() {
    if (process()) {
      boolean _ = process();
    }
  }

  private boolean pollReceives() {
    for (int left = sizes.receives(); left > 0; ) {
      int count = receives.poll(completions);
      int succeeded = 0;
      for (int i = 0; i < count && !hasEnded(); i++) {
        if (!completions.isSuccess(i)) {
          failed(i);
        } else if (completions.has(i, CompletionFlag.WITH_IMM)) {
          succeeded++;
          receive(completions.immediate(i));
        } else {
          violated("a message without immediate data");
        }
      }
      if (state == State.CONNECTED) {
        postReceives(succeeded);
      }
      if (count < BATCH) {
        return false;
      }
      left -= count;
    }
    return true;
  }

  private void postReceives(int count) {
    for (int left = count; left > 0; left -= BATCH) {
      int batch = Math.min(left, BATCH);
      if (queuePair.post(receiveRequests, 0, batch) < batch) {
        throw new IllegalStateException("the receive queue of the connection is full");
      }
    }
  }

  private void receive(int message) {
    int value = message & VALUE_MASK;
    switch (message >>> OPERATION_SHIFT) {
      case DATA -> receiveData(value);
      case GRANT -> {
        allowed = (short) value;
        takeTargets();
      }
      case AREA -> {
        messages++;
        if (value >= sizes.areas()) {
          violated("an area with the index " + value + " of " + sizes.areas());
        }
      }
      case CONTROL -> receiveControl(value);
      default -> violated("a message of the unknown operation " + (message >>> OPERATION_SHIFT));
    }
  }

  private void receiveData(int length) {
    if (isInputEnded) {
      violated(length + " bytes of the stream after its end");
      return;
    } else if (length > granted - received) {
      violated("%d bytes where %d were granted".formatted(length, granted - received));
      return;
    }
    messages++;
    received += length;
    if (isInputShut) {
      discard();
    }
  }

  private void receiveControl(int value) {
    switch (value) {
      case DISCONNECT -> {
        isInputEnded = true;
        state = State.DISCONNECTED;
      }
      case KEEPALIVE -> {}
      case SHUTDOWN -> isInputEnded = true; // This end may have data that is not acknowledged yet.
      default -> violated("a control message of the unknown value " + value);
    }
  }

  private void violated(String what) {
    fail("the peer violated the protocol of rsockets, and the connection was closed: " + what);
  }

  private void takeTargets() {
    while (targets[nextTarget].length() == 0 && memory.take(nextTarget, targets[nextTarget])) {
      nextTarget = 1 - nextTarget;
    }
  }

  private void pollSends() {
    int count;
    do {
      count = sends.poll(completions);
      for (int i = 0; i < count; i++) {
        sendCompleted(i);
      }
    } while (count == BATCH);
  }

  private void sendCompleted(int index) {
    long id = completions.id(index);
    int operation = (int) (id >>> Integer.SIZE);
    if (operation == GRANT || operation == CONTROL) {
      controlOutstanding--;
    } else {
      freeRequests++;
      freeBytes += (int) id;
    }
    if (!completions.isSuccess(index)) {
      failed(index);
    } else if (operation == CONTROL && (int) id == DISCONNECT && !hasEnded()) {
      state = State.DISCONNECTED;
    }
  }

  private void failed(int index) {
    CompletionStatus status = completions.status(index);
    if (status == CompletionStatus.WR_FLUSH_ERR) {
      flushed();
    } else {
      failed(status);
    }
  }

  private void failed(CompletionStatus status) {
    fail(
        "the connection failed (%s): the peer ended or cannot be reached any more"
            .formatted(status));
  }

  /**
   * The queue pair is in the state ERR, which is not yet a failure. librdmacm modifies it when it
   * returns RDMA_CM_EVENT_REJECTED, the end of a connection whose peer has not received the RTU:
   * requests can be flushed before that event is processed.
   */
  private void flushed() {
    if (state == State.CONNECTED) {
      // Virtual threads of the program that poll the stream can occupy all carriers.
      Thread.ofPlatform().daemon().name("flush of " + this).start(flushed);
      state = State.FLUSHED;
    }
  }

  /** The pending events of RDMA CM were received. Unless one has ended the stream, it fails. */
  void endFlushed() {
    lock.lock();
    try {
      boolean _ = process(); // A completion may have the cause.
      if (state == State.FLUSHED) {
        failed(CompletionStatus.WR_FLUSH_ERR);
      }
    } finally {
      lock.unlock();
    }
    events.wake(); // No further completion need follow.
  }

  /**
   * A verb has failed, for example because the device was removed, or another thread is closing an
   * object below the stream.
   */
  private void fail(RuntimeException e) {
    fail("the connection failed: " + e.getMessage());
  }

  private void fail(String why) {
    if (!hasEnded()) {
      state = State.FAILED;
      failure = why;
      events.signal();
      Thread.ofVirtual().name("end of " + this).start(failed);
    }
  }

  private boolean canControl() {
    if (isReleased) {
      return false;
    }
    if (controlOutstanding == CONTROL_MESSAGES) {
      try {
        pollSends();
      } catch (VerbsException | IllegalStateException e) {
        fail(e);
      }
    }
    return state == State.CONNECTED && !isDisconnectSent && controlOutstanding < CONTROL_MESSAGES;
  }

  private boolean isGrantDue() {
    return freed >= sizes.receiveBuffer() / 2 || (short) (messages - nextGrant) >= 0;
  }

  private void giveCredits() {
    if (pendingControl != NONE && sendControl(pendingControl)) {
      pendingControl = NONE;
    }
    if (!isGrantDue() || !canControl()) {
      return;
    }
    nextGrant = (short) (messages + sizes.receives() / 2);
    int message = message(GRANT, (messages + sizes.receives()) & 0xffff);
    int half = sizes.receiveBuffer() / 2;
    if (freed < half) {
      requests.immediate(MESSAGE_REQUEST, message);
      postControl(MESSAGE_REQUEST, GRANT, 0);
      return;
    }
    int at = sizes.sendBuffer() + controlIndex * ConnectionData.SGE_SIZE;
    controlIndex = (controlIndex + 1) % CONTROL_MESSAGES;
    putSge(at, memory.ringAddress(freeOffset), memory.ringKey(), half);
    requests.local(GRANT_REQUEST, memory.sendRegion(), at, ConnectionData.SGE_SIZE);
    requests.immediate(GRANT_REQUEST, message);
    requests.remote(
        GRANT_REQUEST,
        peer.table().address() + (long) peerEntry * ConnectionData.SGE_SIZE,
        peer.table().key());
    peerEntry = (peerEntry + 1) % peer.table().length();
    granted += half;
    freed -= half;
    freeOffset = half - freeOffset;
    postControl(GRANT_REQUEST, GRANT, 0);
  }

  private boolean sendControl(int value) {
    if (!canControl()) {
      return false;
    }
    requests.immediate(MESSAGE_REQUEST, message(CONTROL, value));
    postControl(MESSAGE_REQUEST, CONTROL, value);
    isDisconnectSent |= value == DISCONNECT;
    return true;
  }

  /**
   * Sends an empty write, whose failure shows that the peer cannot be reached.
   *
   * @return whether the connection has not ended
   */
  boolean keepAlive() {
    lock.lock();
    try {
      if (!isReleased && canControl()) {
        postControl(KEEPALIVE_REQUEST, CONTROL, KEEPALIVE);
      }
      return !hasEnded();
    } finally {
      lock.unlock();
    }
  }

  // Waiting

  /** Returns which of the operations would not wait now; arms the queues for the others. */
  int ready(int operations) {
    lock.lock();
    try {
      boolean hasMore;
      int ready;
      do {
        hasMore = process();
        ready = readyNow() & operations;
      } while (ready != operations && !isReleased && (arm(operations & ~ready) || hasMore));
      return ready;
    } finally {
      lock.unlock();
    }
  }

  private int readyNow() {
    boolean isOver = hasEnded() || isClosing;
    boolean canReceive = received != consumed || hasInputEnded();
    return (canReceive || isOver ? RECEIVE : 0) | (isOver || isOutputShut || canSend() ? SEND : 0);
  }

  /** Requests the events that the operations depend on; returns whether to process again. */
  private boolean arm(int operations) {
    try {
      return events.arm((operations & ~RECEIVE) != 0 || isGrantDue());
    } catch (VerbsException | IllegalStateException e) {
      fail(e);
      return false;
    }
  }

  /** Reads the events of the descriptor, which was readable. */
  void readEvents() {
    lock.lock();
    try {
      if (!isReleased) {
        events.read();
      }
    } catch (VerbsException | IllegalStateException e) {
      fail(e);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits until one of the operations is ready, the time is over, or the stream is closed. May
   * return earlier, in particular when the thread is interrupted.
   */
  void await(int operations, long nanos) {
    long deadline = nanos == Long.MAX_VALUE ? nanos : System.nanoTime() + nanos;
    lock.lock();
    try {
      spin(operations);
      while (!isClosing && ready(operations) == 0 && !Thread.currentThread().isInterrupted()) {
        long left = nanos == Long.MAX_VALUE ? nanos : deadline - System.nanoTime();
        if (left <= 0) {
          return;
        }
        events.await(left);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (VerbsException | IllegalStateException e) {
      fail(e);
    } finally {
      lock.unlock();
    }
  }

  @SuppressWarnings("ThreadPriorityCheck") // A virtual thread yields to others, not by chance.
  private void spin(int operations) {
    if (SPIN_NANOS == 0) {
      return;
    }
    long start = System.nanoTime();
    while (!isClosing && System.nanoTime() - start < SPIN_NANOS) {
      boolean _ = process();
      if ((readyNow() & operations) != 0) {
        return;
      }
      lock.unlock();
      try {
        if (Thread.currentThread().isVirtual()) {
          Thread.yield(); // What it waits for may need this carrier.
        }
        Thread.onSpinWait();
      } finally {
        lock.lock();
      }
    }
  }

  // The end

  /** Makes the stream read its end from now on. Data that comes is discarded. */
  void shutInput() {
    lock.lock();
    try {
      isInputShut = true;
      discard();
      giveCredits();
    } finally {
      lock.unlock();
    }
    sendPending();
  }

  /** Tells the peer that no data follows, as soon as a control message can be sent. */
  void shutOutput() {
    lock.lock();
    try {
      isOutputShut = true;
      if (state == State.CONNECTED) {
        pendingControl = isInputEnded ? DISCONNECT : SHUTDOWN;
      }
    } finally {
      lock.unlock();
    }
    sendPending();
  }

  /**
   * Sends the pending control message, now or when an earlier one is acknowledged. Makes all
   * threads that wait examine the stream: the events that it reads were also theirs.
   */
  private void sendPending() {
    readEvents();
    events.wake(); // First: this also ends an earlier wait for the acknowledgement.
    lock.lock();
    try {
      boolean hasMore;
      do {
        hasMore = process();
        if (pendingControl == NONE || isClosing || isReleased || state != State.CONNECTED) {
          return;
        }
      } while (arm(SEND) || hasMore);
      events.whenReadable(this::sendLater);
    } finally {
      lock.unlock();
    }
  }

  private void sendLater() {
    sendPending();
    changed.run(); // Selectors, too.
  }

  /**
   * RDMA CM has told the end of the connection. A peer that ends in order sends a message of the
   * stream before; without one it has aborted the connection, or was killed.
   *
   * @param isOrderly whether the peer ended before the connection was established there
   */
  void disconnected(boolean isOrderly) {
    lock.lock();
    try {
      if (!isReleased) {
        processAll();
        if (isInputEnded || isOrderly) {
          isInputEnded = true;
          state = hasEnded() ? state : State.DISCONNECTED;
        } else {
          fail(RESET);
        }
      }
    } finally {
      lock.unlock();
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
    lock.lock();
    try {
      processAll();
      isOrderly = !isAbort && (isInputShut || received == consumed + reading);
      isClosing = true;
      isInputShut = true;
      isOutputShut = true;
      if (!isOrderly) {
        pendingControl = NONE;
      } else if (state == State.CONNECTED && !isDisconnectSent) {
        pendingControl = DISCONNECT;
      }
    } finally {
      lock.unlock();
    }
    events.wake();
    return isOrderly;
  }

  /**
   * Continues the orderly end.
   *
   * @param again is called in another thread when to continue
   * @return whether the peer's device has acknowledged all data, or the connection has ended
   */
  boolean continueClose(Runnable again) {
    lock.lock();
    try {
      boolean hasMore;
      readEvents();
      do {
        hasMore = process();
        if (isReleased || hasEnded()) {
          return true;
        }
      } while (arm(RECEIVE | SEND) || hasMore);
      events.whenReadable(again);
      return false;
    } finally {
      lock.unlock();
    }
  }

  /** Destroys the queue pair with its identifier, and frees the memory. */
  void release(ConnectionId id) {
    lock.lock();
    try {
      isClosing = true;
      if (!hasEnded()) {
        state = State.DISCONNECTED;
      }
    } finally {
      lock.unlock();
    }
    life.close();
    try (memory;
        events;
        receives;
        sends;
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
    lock.lock();
    try {
      fail("the connection failed: an object of its device was closed");
      isReleased = true;
      events.signal();
      copying.awaitNone(LONGEST_COPY);
      last = beforeRelease;
    } finally {
      lock.unlock();
    }
    events.stop();
    last.run();
  }

  @Override
  public String toString() {
    return "rsocket stream over " + queuePair;
  }
}
