package dev.verbena.messages;

import dev.verbena.RdmaTimeoutException;
import dev.verbena.verbs.MemoryRegion;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The answer of a request, in the thread that it is for. */
public final class Answer {
  private final String client;
  private final MessageSlots messages;
  int receive;
  private int kind;
  private long length;

  /** The memory for a large answer, of the pool or of the caller; and how much of it. */
  private @Nullable MemoryRegion target;

  private boolean isPooled;
  private long targetAt;
  private long room;
  private Duration timeout = Duration.ZERO;

  Answer(String client, MessageSlots messages) {
    this.client = client;
    this.messages = messages;
  }

  /** Begins to wait for an answer, with memory for a large one or null. */
  void expect(Duration time, @Nullable MemoryRegion memory, long at, long size, boolean ofPool) {
    timeout = time;
    target = memory;
    targetAt = at;
    room = size;
    isPooled = ofPool;
  }

  /** Removes the memory of the pool, which is returned. */
  @Nullable MemoryRegion takePooled() {
    MemoryRegion region = isPooled ? target : null;
    target = null;
    isPooled = false;
    return region;
  }

  /** A message has arrived, whose length is at least that of a header. */
  void arrived(int slot, long size) {
    receive = slot;
    MemorySegment memory = messages.region().memory();
    kind = RequestFrame.kind(memory, messages.offset(slot));
    length = size - RequestFrame.HEADER;
    if (isWritten()) {
      length = length < Long.BYTES ? -1 : RequestFrame.length(memory, bytesAt());
    }
  }

  private boolean isWritten() {
    return kind == (RequestFrame.ANSWER | RequestFrame.WRITTEN);
  }

  private long bytesAt() {
    return messages.offset(receive) + RequestFrame.HEADER;
  }

  /** Returns whether the server has given up the request, whose time was over. */
  boolean isExpiry() {
    return kind == RequestFrame.EXPIRY;
  }

  /** Returns why there is no answer; null if there is one. */
  @Nullable RuntimeException failure() {
    if (isWritten()) { // What a server says is not believed.
      return target != null && length >= 0 && length <= room
          ? null
          : new RequestFailedException(
              "the server claims to have written %d bytes to memory of %d"
                  .formatted(length, target == null ? 0 : room),
              false);
    }
    return switch (kind) {
      case RequestFrame.ANSWER -> null;
      case RequestFrame.EXPIRY -> new RdmaTimeoutException("a call over " + client, timeout);
      default ->
          new RequestFailedException(
              StandardCharsets.UTF_8.decode(bytes().asByteBuffer()).toString(),
              kind == RequestFrame.REFUSAL);
    };
  }

  /** {@return the length in bytes} */
  public long length() {
    return length;
  }

  /**
   * {@return the bytes, in registered memory}
   *
   * <p>A callback must not use them after it has returned.
   */
  public MemorySegment bytes() {
    MemoryRegion region = target;
    return isWritten() && region != null
        ? region.memory().asSlice(targetAt, length)
        : messages.region().memory().asSlice(bytesAt(), length);
  }

  /**
   * Copies the bytes.
   *
   * @param to memory of any kind
   * @return the length in bytes
   * @throws IndexOutOfBoundsException if the answer is longer than the memory
   */
  public long copyTo(MemorySegment to) {
    if (length > to.byteSize()) {
      throw new IndexOutOfBoundsException(
          "the answer has %d bytes, its memory %d".formatted(length, to.byteSize()));
    }
    MemoryRegion region = target;
    boolean isElsewhere = isWritten() && region != null;
    MemorySegment.copy(
        isElsewhere ? region.memory() : messages.region().memory(),
        isElsewhere ? targetAt : bytesAt(),
        to,
        0,
        length);
    return length;
  }

  /**
   * Moves the bytes to the memory of the caller, unless the server has; returns their number.
   *
   * @throws RequestFailedException if they are more
   */
  long toTarget() {
    MemoryRegion region = target;
    if (!isWritten() && region != null) {
      if (length > room) {
        throw new RequestFailedException(
            "the answer has %d bytes, its memory %d".formatted(length, room), false);
      }
      long _ = copyTo(region.memory().asSlice(targetAt, room));
    }
    return length;
  }

  @Override
  public String toString() {
    return "answer of %d bytes to a call over %s".formatted(length, client);
  }
}
