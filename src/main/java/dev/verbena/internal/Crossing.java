package dev.verbena.internal;

/**
 * Decides, call by call, how the data path of one queue crosses into C.
 *
 * <p>A critical call saves what a plain one spends on telling the JVM where the thread is, and one
 * instruction more: {@code vzeroupper}. If anything on the thread left the upper halves of the
 * vector registers in use, be it long ago, then C code made of SSE instructions, which is what
 * distributions compile, and Java code made of AVX instructions, which is how C2 spills, cost each
 * other some 60 ns a meeting, call after call. So a call in {@value #PLAIN_EVERY} is a plain one:
 * it clears the registers, and costs next to nothing at that rate.
 */
final class Crossing {
  private static final int PLAIN_EVERY = 256;

  private final CriticalCalls critical;

  /** Not atomic: threads that use a queue at once only disturb the rhythm. */
  private int calls;

  Crossing(CriticalCalls critical) {
    this.critical = critical;
  }

  /** Whether the next call is a critical one. */
  boolean isCritical() {
    return critical.areAllowed() && (++calls & (PLAIN_EVERY - 1)) != 0;
  }
}
