package dev.verbena.s3;

import java.time.Duration;
import java.util.function.LongSupplier;

/** How long something is not tried again after it has failed: longer each time. */
final class Pause {
  private static final Duration FIRST = Duration.ofSeconds(1);
  private static final Duration LONGEST = Duration.ofMinutes(5);

  private static volatile LongSupplier clock = System::nanoTime;

  private Duration next = FIRST;
  private long end;
  private boolean active;
  private boolean forEver;

  /** Tests do not wait. */
  static void use(LongSupplier nanoTime) {
    clock = nanoTime;
  }

  synchronized boolean isActive() {
    active = active && end - clock.getAsLong() > 0;
    return forEver || active;
  }

  /** It has failed. Attempts that were made at the same time extend it once. */
  synchronized void begin() {
    if (!isActive()) {
      active = true;
      end = clock.getAsLong() + next.toNanos();
      next = next.multipliedBy(2).compareTo(LONGEST) > 0 ? LONGEST : next.multipliedBy(2);
    }
  }

  /** It must not be tried again. */
  synchronized void beginForEver() {
    forEver = true;
  }

  /** It has worked. */
  synchronized void reset() {
    next = FIRST;
    active = false;
  }
}
