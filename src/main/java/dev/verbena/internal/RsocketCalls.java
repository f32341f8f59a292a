package dev.verbena.internal;

import dev.verbena.Errno;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * The data path of one rsocket: {@code rrecv}, {@code rsend} and {@code riowrite}, without
 * allocation. One thread at a time receives, and one sends.
 *
 * <p>The rsocket must be non-blocking: a call that blocks in C cannot be interrupted.
 */
public final class RsocketCalls {
  /** Symbols, looked up at the first use of an rsocket. */
  private static final class Found {
    static final MemorySegment RRECV = find("rrecv");
    static final MemorySegment RSEND = find("rsend");
    static final MemorySegment RIOWRITE = find("riowrite");
  }

  static MemorySegment find(String function) {
    return ((NativeRsockets) Providers.rsockets()).exported(function, 0);
  }

  private final int socket;
  private final MemorySegment receiving = Downcall.capture(Arena.ofAuto());
  private final MemorySegment sending = Downcall.capture(Arena.ofAuto());

  /** The data path of an rsocket. */
  public RsocketCalls(int socket) {
    this.socket = socket;
  }

  /**
   * Receives into a part of a segment. Returns the number of bytes received, 0 at the end of the
   * stream, or the negative errno.
   */
  public long rrecv(MemorySegment memory, long from, long length, int flags) {
    return call(Found.RRECV, receiving, address(memory, from, length), length, flags, 0, memory);
  }

  /** Sends a part of a segment. Returns the number of bytes sent, or the negative errno. */
  public long rsend(MemorySegment memory, long from, long length, int flags) {
    return call(Found.RSEND, sending, address(memory, from, length), length, flags, 0, memory);
  }

  /**
   * Writes a part of a segment into mapped memory. Returns the number of bytes written, or the
   * negative errno.
   */
  public long riowrite(MemorySegment memory, long from, long length, long offset, int flags) {
    long address = address(memory, from, length);
    return call(Found.RIOWRITE, sending, address, length, offset, flags, memory);
  }

  private static long address(MemorySegment memory, long from, long length) {
    return memory.address() + Objects.checkFromIndexSize(from, length, memory.byteSize());
  }

  /**
   * Calls a function, whose most frequent failure is EAGAIN. The JVM may have changed errno since:
   * any other is that of a second call. An EAGAIN that was another error is harmless, since the
   * rsocket reports that error again.
   */
  private long call(
      MemorySegment function,
      MemorySegment capture,
      long address,
      long length,
      long c,
      long d,
      MemorySegment memory) {
    long result = Downcall.attempt(function, socket, address, length, c, d, memory);
    if (result != -1) {
      return result;
    } else if (ThreadErrno.get() == Errno.EAGAIN) {
      return -Errno.EAGAIN;
    }
    result = Downcall.call(function, capture, socket, address, length, c, d, memory);
    return result == -1 ? -Downcall.errno(capture) : result;
  }
}
