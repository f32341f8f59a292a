package dev.verbena.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

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
    return ((NativeRsockets) Rsockets.system()).exported(function, 0);
  }

  private final int socket;
  private final MemorySegment receiving = Downcall.capture(Arena.ofAuto());
  private final MemorySegment sending = Downcall.capture(Arena.ofAuto());

  /** The data path of an rsocket. */
  public RsocketCalls(int socket) {
    this.socket = socket;
  }

  /** Returns the number of bytes received, 0 at the end of the stream, or the negative errno. */
  public long rrecv(MemorySegment buffer, long length, int flags) {
    return result(
        receiving, Downcall.call(Found.RRECV, receiving, socket, buffer, length, flags, 0, 0));
  }

  /** Returns the number of bytes sent, or the negative errno. */
  public long rsend(MemorySegment buffer, long length, int flags) {
    return result(
        sending, Downcall.call(Found.RSEND, sending, socket, buffer, length, flags, 0, 0));
  }

  /** Returns the number of bytes written into mapped memory, or the negative errno. */
  public long riowrite(MemorySegment buffer, long count, long offset, int flags) {
    return result(
        sending, Downcall.call(Found.RIOWRITE, sending, socket, buffer, count, offset, flags, 0));
  }

  private static long result(MemorySegment capture, long register) {
    return register == -1 ? -Downcall.errno(capture) : register;
  }
}
