package dev.verbena.internal.mlx5;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A lock for the few instructions of a post or a poll, as the spin lock of libmlx5. A thread that
 * has it runs no code of the program and does not block.
 */
final class SpinLock {
  private static final int SPINS_BEFORE_YIELD = 1000;

  private static final VarHandle HELD;

  static {
    try {
      HELD =
          MethodHandles.lookup()
              .findVarHandle(SpinLock.class, "held", int.class)
              .withInvokeExactBehavior();
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  @SuppressWarnings("unused") // Through HELD.
  private int held;

  void lock() {
    if (!HELD.compareAndSet(this, 0, 1)) {
      spin();
    }
  }

  @SuppressWarnings("ThreadPriorityCheck") // Only when the owner may have lost its processor.
  private void spin() {
    for (int spins = 0; !HELD.compareAndSet(this, 0, 1); spins++) {
      if (spins < SPINS_BEFORE_YIELD) {
        Thread.onSpinWait();
      } else {
        Thread.yield();
      }
    }
  }

  void unlock() {
    HELD.setRelease(this, 0);
  }

  /** Unlocks by a locked instruction, after all stores to a device: see {@link Doorbell}. */
  void flushAndUnlock() {
    int _ = (int) HELD.getAndSet(this, 0);
  }
}
