package dev.verbena.internal.calls;

import dev.verbena.internal.foreign.StackSpace;

/**
 * Selects for each call of one queue's data path whether it is critical.
 *
 * <p>A critical call omits the thread state transition of a plain call, and one more instruction:
 * {@code vzeroupper}. If any earlier code of the thread left the upper halves of the vector
 * registers in use, then each transition between the provider's SSE code, as distributions compile
 * it, and C2's AVX code, with which it spills registers, costs about 60 ns. Therefore one call in
 * {@value #PLAIN_EVERY} is plain: it clears the registers, at a negligible cost.
 */
final class Crossing {
  private static final int PLAIN_EVERY = 256;

  private final CriticalCalls critical;

  /** Not atomic: concurrent use of a queue only changes the interval. */
  private int calls;

  Crossing(CriticalCalls critical) {
    this.critical = critical;
  }

  /** Returns whether the next call is critical; if it is not, there is stack for it. */
  boolean isCritical() {
    boolean isCritical = critical.areAllowed() && (++calls & (PLAIN_EVERY - 1)) != 0;
    if (!isCritical) {
      StackSpace.requireForCall();
    }
    return isCritical;
  }
}
