package dev.verbena.s3;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;

/**
 * The use of a region by one attempt of a call. The region goes back to its pool only after a final
 * response: without one the server may access the memory at any later time, so it is deregistered
 * first.
 *
 * <p>The thread of the call, those of an HTTP client, of timeouts and of a cleaner may call
 * methods.
 */
final class Lease {
  private static final int PAGE = 4096;

  /** What may be done with the memory. */
  enum State {
    /** No server was sent the token. */
    PRIVATE,
    /** A server was sent the token. */
    OFFERED,
    /** A server was sent the token, and the call is repeated by HTTP with the data. */
    KEPT,
    /** The final response has arrived; the data is being used. */
    ANSWERED,
    /** The memory was given back, or withdrawn. */
    ENDED
  }

  /** Takes memory back. */
  interface End {
    /**
     * Takes it back.
     *
     * @param isFree whether no peer accesses it any more; otherwise it must be deregistered
     */
    void run(boolean isFree);
  }

  private final MemorySegment data;
  private final String token;
  private final Duration timeout;
  private final Window.Place place;
  private final End end;
  private final MemorySegment mark =
      MemorySegment.ofArray(new long[] {ThreadLocalRandom.current().nextLong()});
  private final CompletableFuture<Void> timer = new CompletableFuture<>();
  private State state = State.PRIVATE;
  private long offered;
  private long filled;

  /**
   * Begins one.
   *
   * @param data the memory that the server may access
   * @param token by what
   * @param timeout how long, without a response
   * @param place of the attempt
   * @param end takes the memory back
   */
  Lease(MemorySegment data, String token, Duration timeout, Window.Place place, End end) {
    this.data = data;
    this.token = token;
    this.timeout = timeout;
    this.place = place;
    this.end = end;
  }

  String token() {
    return token;
  }

  long length() {
    return data.byteSize();
  }

  /** The memory has the data already. */
  synchronized void fill() {
    filled = length();
  }

  /**
   * Appends data to send.
   *
   * @throws IOException if it has ended, or is full
   */
  synchronized void append(MemorySegment source) throws IOException {
    if (state != State.PRIVATE) {
      throw new IOException("the buffer was withdrawn");
    }
    long size = source.byteSize();
    if (size > length() - filled) {
      throw new IOException("the content is longer than its Content-Length, " + length());
    }
    MemorySegment.copy(source, 0, data, filled, size);
    filled += size;
  }

  /** {@return whether all data was appended} */
  synchronized boolean isFull() {
    return filled == length();
  }

  /** Marks each page and the end, so that what the server does not write to is noticed. */
  synchronized void mark() {
    if (state == State.PRIVATE) {
      marks(length()).forEach(at -> MemorySegment.copy(mark, 0, data, at, mark.byteSize()));
    }
  }

  /** Returns where marks are; data is not equal to one by chance, since none is shorter. */
  private LongStream marks(long bytes) {
    long last = bytes - mark.byteSize();
    LongStream pages = LongStream.iterate(0, at -> at <= last, at -> at + PAGE);
    return bytes == length() && last >= 0 ? LongStream.concat(pages, LongStream.of(last)) : pages;
  }

  /** Returns whether each page of so many bytes, and the end of the memory, was written to. */
  synchronized boolean isWritten(long bytes) {
    long size = mark.byteSize();
    return marks(bytes)
        .noneMatch(at -> MemorySegment.mismatch(data, at, at + size, mark, 0, size) < 0);
  }

  /** The token will be sent. Returns false if it has ended, so that others may use the memory. */
  synchronized boolean offer() {
    if (state != State.PRIVATE) {
      return false;
    }
    state = State.OFFERED;
    offered = System.nanoTime();
    CompletableFuture<?> _ =
        timer
            .orTimeout(timeout.toMillis(), TimeUnit.MILLISECONDS)
            .exceptionallyAsync(
                _ -> {
                  expire();
                  return null;
                });
    return true;
  }

  synchronized boolean is(State expected) {
    return state == expected;
  }

  /** The final response has arrived. Returns false if the memory was withdrawn before. */
  synchronized boolean answer() {
    if (state != State.OFFERED) {
      return false;
    }
    state = State.ANSWERED;
    place.leave();
    return true;
  }

  /** Withdraws the memory when the use ends, although a response has arrived. */
  synchronized void distrust() {
    if (state == State.ANSWERED) {
      state = State.KEPT;
    }
  }

  /** Keeps the data for attempts by HTTP. Returns false if the memory does not have it. */
  synchronized boolean keep() {
    if (state == State.OFFERED) {
      state = State.KEPT;
    }
    return state == State.KEPT;
  }

  /** Copies data; returns false if it has ended. */
  synchronized boolean copy(long offset, MemorySegment target) {
    if (state != State.ANSWERED && state != State.KEPT) {
      return false;
    }
    MemorySegment.copy(data, offset, target, 0, target.byteSize());
    return true;
  }

  /**
   * Returns the memory until an arena is closed, which then runs an action; null if it has ended.
   */
  synchronized MemorySegment segment(long length, Arena arena, Runnable closed) {
    return state == State.ENDED
        ? null
        : MemorySegment.ofAddress(data.address()).reinterpret(length, arena, _ -> closed.run());
  }

  synchronized long nanosSinceOffer() {
    return System.nanoTime() - offered;
  }

  /** Returns the checksum of the first bytes. */
  synchronized String checksum(DataChecksum algorithm, long bytes) {
    return algorithm.of(data.asSlice(0, bytes));
  }

  /** Deregisters the memory if there is no response: cancelled calls end without notice. */
  private synchronized void expire() {
    if (state == State.OFFERED) {
      end();
    }
  }

  /**
   * Ends the use, if it has not ended: the region goes back to its pool if no peer accesses it any
   * more, and is deregistered otherwise.
   */
  synchronized void end() {
    State before = state;
    state = State.ENDED;
    timer.complete(null);
    place.leave();
    switch (before) {
      case PRIVATE, ANSWERED -> end.run(true);
      case OFFERED, KEPT -> end.run(false);
      case ENDED -> {}
    }
  }
}
