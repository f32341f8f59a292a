package dev.verbena.internal;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The counters of one connection. Of each counter one thread at a time may add; any thread may read
 * at any time, and then has a value that was current a moment ago.
 */
@SuppressWarnings("EnumOrdinal") // The index of an array.
public final class Tally {
  private static final VarHandle COUNTS = MethodHandles.arrayElementVarHandle(long[].class);

  private final long[] counts = new long[MessageCounter.values().length];

  /** Adds to a counter: no atomic operation, since nobody else adds. */
  public void add(MessageCounter counter, long number) {
    int index = counter.ordinal();
    COUNTS.setOpaque(counts, index, counts[index] + number);
  }

  /** Returns the value of a counter. */
  public long get(MessageCounter counter) {
    return (long) COUNTS.getOpaque(counts, counter.ordinal());
  }
}
