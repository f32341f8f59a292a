package dev.verbena.messages;

import dev.verbena.internal.Ranges;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A request of a {@link RequestClient}, to be answered by a {@link RequestServer.Handler}. It is
 * valid until the handler returns; the answer is sent then.
 */
public final class Request implements Runnable {
  /** Whether there is an answer, and where its bytes are. */
  private enum State {
    NONE,
    HERE,
    ELSEWHERE
  }

  private final RequestServer server;
  private final ServedClient client;
  private final MessageSlots messages;

  /** The receive request. */
  final int receive;

  private long id;
  private int kind;
  private long length;

  /** The memory of the client for a large answer. */
  private @Nullable RemoteMemory room;

  /** When the client gives up, if it does. */
  private long deadline;

  private boolean hasDeadline;

  /** The memory of the pool with the bytes of a large request. */
  private @Nullable MemoryRegion large;

  /** Why the handler is not called. */
  private @Nullable Throwable refusal;

  // The answer

  private int place;
  private State state = State.NONE;
  private long answerLength;
  private @Nullable MemoryRegion region;
  private long regionOffset;
  private boolean isPooled;
  private @Nullable Runnable whenSent;

  /** Whether the handler runs, and whether the server has given it up; guarded by the client. */
  volatile boolean isRunning;

  boolean isGivenUp;

  Request(RequestServer server, ServedClient client, MessageSlots messages, int receive) {
    this.server = server;
    this.client = client;
    this.messages = messages;
    this.receive = receive;
  }

  // Arrival

  /** A message has arrived; returns whether it is a request. */
  boolean arrived(long size, long now) {
    refusal = null;
    state = State.NONE;
    region = null;
    whenSent = null;
    isPooled = false;
    isGivenUp = false;
    kind =
        size < RequestFrame.HEADER
            ? -1
            : RequestFrame.kind(messages.region().memory(), messages.offset(receive));
    if (!RequestFrame.isRequest(kind, size)) {
      return false;
    }
    MemorySegment memory = messages.region().memory();
    long at = messages.offset(receive);
    id = RequestFrame.id(memory, at);
    int milliseconds = RequestFrame.milliseconds(memory, at);
    hasDeadline = milliseconds > 0;
    deadline = now + milliseconds * 1_000_000L;
    long next = at + RequestFrame.HEADER;
    length = size - RequestFrame.bytesAt(kind);
    if (isLarge()) {
      length = RequestFrame.memory(memory, next).length();
      next += RequestFrame.MEMORY;
    }
    room = (kind & RequestFrame.TARGET) == 0 ? null : RequestFrame.memory(memory, next);
    return true;
  }

  /** Returns whether its bytes are in memory of the client. */
  boolean isLarge() {
    return (kind & RequestFrame.LARGE) != 0;
  }

  /** Returns the memory of the client that has the bytes. */
  RemoteMemory source() {
    return RequestFrame.memory(
        messages.region().memory(), messages.offset(receive) + RequestFrame.HEADER);
  }

  ServedClient client() {
    return client;
  }

  long id() {
    return id;
  }

  /** Returns whether the client has given up. */
  boolean isLate(long now) {
    return hasDeadline && now - deadline >= 0;
  }

  /** Sets the memory for the bytes of a large request, which is read. */
  void large(MemoryRegion memory) {
    large = memory;
  }

  /** Makes the answer of a request be a failure. */
  void refuse(Throwable reason) {
    refusal = reason;
  }

  /** The handler is about to be called; the client, which has a place for the answer, is locked. */
  void start(int index) {
    place = index;
    isRunning = true;
  }

  int place() {
    return place;
  }

  /** Returns the memory for the bytes of a large request; null if it has none. */
  @Nullable MemoryRegion large() {
    return large;
  }

  /** Removes the memory of the pool with the bytes of the request. */
  @Nullable MemoryRegion takeLarge() {
    MemoryRegion memory = large;
    large = null;
    return memory;
  }

  // For the handler

  /** {@return the bytes of the request} */
  public MemorySegment bytes() {
    MemoryRegion memory = large;
    return memory == null
        ? messages
            .region()
            .memory()
            .asSlice(messages.offset(receive) + RequestFrame.bytesAt(kind), length)
            .asReadOnly()
        : memory.memory().asSlice(0, length).asReadOnly();
  }

  /**
   * {@return memory for an answer that is no larger than a message; {@link #answer(long)} says how
   * much of it is the answer}
   */
  public MemorySegment answer() {
    return client.answer(place);
  }

  /**
   * Makes the first bytes of {@link #answer()} the answer.
   *
   * @param size the number of bytes
   * @throws IndexOutOfBoundsException if the memory is smaller
   * @throws IllegalStateException if the request has an answer
   */
  public void answer(long size) {
    requireNone();
    answerLength = Objects.checkFromIndexSize(0, size, client.messageSize()) + size;
    state = State.HERE;
  }

  /**
   * Makes bytes the answer. They are copied; those of an answer that is larger than a message are
   * copied to registered memory, and written to the memory of the client.
   *
   * @param bytes the bytes, in memory of any kind
   * @throws IllegalArgumentException if they are more than the client has memory for
   * @throws IllegalStateException if the request has an answer, or others have all memory for
   *     copies
   */
  public void answer(MemorySegment bytes) {
    long size = bytes.byteSize();
    if (size <= client.messageSize()) {
      requireNone();
      MemorySegment.copy(bytes, 0, client.answer(place), 0, size);
      answer(size);
      return;
    }
    requireRoom(size);
    MemoryRegion copy = server.copies().take(size);
    if (copy == null) {
      throw new IllegalStateException("other answers have the memory for copies");
    }
    try {
      MemorySegment.copy(bytes, 0, copy.memory(), 0, size);
    } catch (Throwable t) { // The handler may answer otherwise.
      server.copies().give(copy);
      throw t;
    }
    answer(copy, 0, size, null);
    isPooled = true;
  }

  /**
   * Makes registered memory the answer, from which it is written to the memory of the client, if
   * that has some; otherwise the bytes are copied.
   *
   * @param from a region of {@link RequestServer#domain}, which the handler does not close
   * @param offset the offset of the bytes in the region
   * @param size the number of bytes
   * @param sent runs when the memory may change, in the thread of the server; null for nothing
   * @throws IndexOutOfBoundsException if the bytes are not inside the region
   * @throws IllegalArgumentException if they are more than the client has memory for, or the region
   *     is of another protection domain
   * @throws IllegalStateException if the request has an answer
   */
  public void answer(MemoryRegion from, long offset, long size, @Nullable Runnable sent) {
    long _ = Ranges.within(from, offset, size, from.length());
    if (!from.domain().isOneWith(server.domain())) {
      throw new IllegalArgumentException(from + " is of another protection domain than " + server);
    }
    if (room == null && size <= client.messageSize()) {
      requireNone();
      MemorySegment.copy(from.memory(), offset, client.answer(place), 0, size);
      answer(size);
    } else {
      requireRoom(size);
      region = from;
      regionOffset = offset;
      answerLength = size;
      state = State.ELSEWHERE;
    }
    whenSent = sent;
  }

  private void requireNone() {
    if (state != State.NONE || !isRunning) {
      throw new IllegalStateException(this + " has an answer already, or its handler has returned");
    }
  }

  private void requireRoom(long size) {
    requireNone();
    RemoteMemory memory = room;
    if (memory == null || size > memory.length()) {
      throw new IllegalArgumentException(
          "the answer has %d bytes, the memory of the client %d"
              .formatted(size, memory == null ? client.messageSize() : memory.length()));
    }
  }

  // Answering

  /** Calls the handler, and sends the answer. */
  @Override
  public void run() {
    server.answer(this);
  }

  /** Calls the handler; what fails is the answer. */
  void handle(RequestServer.Handler handler) {
    try {
      Throwable reason = refusal;
      if (reason != null) {
        throw reason;
      }
      handler.handle(this);
      if (state == State.NONE) {
        throw new IllegalStateException("the handler has not answered");
      }
      write(RequestFrame.ANSWER, answerLength);
    } catch (Throwable t) { // The client's call throws its message.
      fail(t);
    }
  }

  private void fail(Throwable reason) {
    if (isPooled && region != null) {
      server.copies().give(region);
    }
    region = null;
    isPooled = false;
    state = State.HERE;
    String text = reason.getMessage() == null ? reason.toString() : reason.getMessage();
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    answerLength = Math.min(bytes.length, client.messageSize());
    MemorySegment.copy(MemorySegment.ofArray(bytes), 0, client.answer(place), 0, answerLength);
    write(
        reason instanceof RequestFailedException e && e.isTransient()
            ? RequestFrame.REFUSAL
            : RequestFrame.FAILURE,
        answerLength);
  }

  private void write(int answer, long size) {
    if (state == State.ELSEWHERE) {
      client.writeHeader(place, id, answer | RequestFrame.WRITTEN, size);
    } else {
      client.writeHeader(place, id, answer, -1);
    }
  }

  /** Adds the answer to the sends of the client, which has the lock. */
  void send(PostedSends sends, MemoryRegion answers, long at) {
    MemoryRegion from = region;
    RemoteMemory to = room;
    if (state == State.ELSEWHERE && from != null && to != null) {
      if (answerLength > 0) {
        sends.write(
            ServedClient.NOTHING, from, regionOffset, answerLength, to.address(), to.rkey());
      }
      sends.send(place, answers, at, RequestFrame.HEADER + Long.BYTES);
    } else {
      sends.send(place, answers, at, RequestFrame.HEADER + answerLength);
    }
  }

  /** Removes the memory of the pool with the bytes of the answer. */
  @Nullable MemoryRegion takeCopy() {
    return isPooled ? region : null;
  }

  @Nullable Runnable whenSent() {
    return whenSent;
  }

  @Override
  public String toString() {
    return "request of %d bytes of %s".formatted(length, client);
  }
}
