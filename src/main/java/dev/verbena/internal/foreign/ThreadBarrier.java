package dev.verbena.internal.foreign;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;

/**
 * A memory barrier in all threads of this process, made by one of them: {@code membarrier(2)} with
 * {@code MEMBARRIER_CMD_PRIVATE_EXPEDITED}.
 *
 * <p>Two threads that each store to one variable and then load the variable of the other need a
 * full barrier in between; otherwise both may load the old value. If one of them is the data path,
 * which must not have a barrier, and the other one is rare, the rare one makes the barrier for
 * both.
 *
 * <p>Where the system call is not available, a shared arena is closed: for this the JVM makes a
 * handshake with each thread, which also orders its loads and stores. Where this is not Linux, both
 * threads make a full fence: speed does not matter there.
 */
public final class ThreadBarrier {
  private static final int PRIVATE_EXPEDITED = 1 << 3;
  private static final int REGISTER_PRIVATE_EXPEDITED = 1 << 4;

  private static final MemorySegment SYSCALL = Libc.findOrNull("syscall");
  private static final long MEMBARRIER = Platform.current().isAarch64() ? 283 : 324;
  private static final boolean EXPEDITED =
      SYSCALL.address() != 0 && membarrier(REGISTER_PRIVATE_EXPEDITED) == 0;

  private ThreadBarrier() {}

  /**
   * Orders the loads and stores of all threads of this process: when this method returns, the
   * stores of a thread before some point of its execution are visible to the caller, and its loads
   * after that point see the caller's earlier stores.
   */
  public static void run() {
    if (!Libc.isPresent()) {
      VarHandle.fullFence();
    } else if (!EXPEDITED || membarrier(PRIVATE_EXPEDITED) != 0) {
      handshake();
    }
  }

  /**
   * Orders a store and a load of the data path, without Linux: {@link #run} orders the caller's.
   */
  public static void beforeLoad() {
    if (!Libc.isPresent()) {
      VarHandle.fullFence();
    }
  }

  /** Orders loads and stores without the system call. */
  static void handshake() {
    Arena.ofShared().close();
  }

  /** Returns whether {@link #run} interrupts the processors that other threads run on. */
  public static boolean interruptsProcessors() {
    return EXPEDITED;
  }

  /**
   * Calls membarrier(2); returns 0, or -1 if the kernel does not support the command or a filter
   * forbids it.
   */
  private static long membarrier(int command) {
    return Call.plain(SYSCALL, MEMBARRIER, command, 0, 0);
  }
}
