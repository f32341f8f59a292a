package dev.verbena.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;

/**
 * A memory barrier in all threads of this process, made by one of them: {@code membarrier(2)} with
 * {@code MEMBARRIER_CMD_PRIVATE_EXPEDITED}.
 *
 * <p>Two threads that each store to one variable and then load from the other's need a full barrier
 * in between, or both may load the old value. Where one of the two is the data path, which is to
 * have no barrier, and the other one is rare, the rare one makes it for both.
 *
 * <p>Where the system call is missing, a shared arena is closed: for that the JVM makes a handshake
 * with each thread, which orders its loads and stores as well.
 */
public final class ThreadBarrier {
  private static final int PRIVATE_EXPEDITED = 1 << 3;
  private static final int REGISTER_PRIVATE_EXPEDITED = 1 << 4;

  private static final MemorySegment SYSCALL = syscall();
  private static final long MEMBARRIER = Platform.current().isAarch64() ? 283 : 324;
  private static final boolean EXPEDITED =
      SYSCALL.address() != 0 && membarrier(REGISTER_PRIVATE_EXPEDITED) == 0;

  private ThreadBarrier() {}

  /**
   * Orders the loads and stores of every thread of this process: when this returns, whatever a
   * thread stored before an earlier point of its program is visible here, or it loads after that
   * point what this thread stored before.
   */
  public static void run() {
    if (!EXPEDITED || membarrier(PRIVATE_EXPEDITED) != 0) {
      handshake();
    }
  }

  /** What {@link #run} does where the system call is missing. */
  static void handshake() {
    Arena.ofShared().close();
  }

  /** Whether {@link #run} makes the system call. */
  static boolean isExpedited() {
    return EXPEDITED;
  }

  private static MemorySegment syscall() {
    if (Platform.current().unsupportedReason() != null) {
      return MemorySegment.NULL; // The number of the call is known for these processors alone.
    }
    return Linker.nativeLinker().defaultLookup().find("syscall").orElse(MemorySegment.NULL);
  }

  /** membarrier(2): 0, or -1 where the kernel lacks the command or a filter forbids it. */
  private static long membarrier(int command) {
    return Call.plain(SYSCALL, MEMBARRIER, command, 0, 0);
  }
}
