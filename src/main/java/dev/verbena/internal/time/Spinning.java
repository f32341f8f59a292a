package dev.verbena.internal.time;

/** The time limit of a loop that polls memory or a queue. */
public final class Spinning {
  /** The time in nanoseconds after which a waiting thread lets others run. */
  private static final long ALONE = 50_000;

  private Spinning() {}

  /**
   * Returns whether a loop goes on; lets other threads run if it has polled for some time.
   *
   * @param start when the loop began, by {@link Time#now}
   * @param limit the maximum time in nanoseconds
   * @throws InterruptedException if the thread is interrupted
   */
  @SuppressWarnings("ThreadPriorityCheck") // What the loop waits for may need this processor.
  public static boolean isTimeLeft(long start, long limit) throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    long waited = Time.now() - start;
    if (waited >= limit) {
      return false;
    }
    if (waited > ALONE) {
      if (Thread.currentThread().isVirtual()) { // Those that yield may keep a carrier for ever.
        Time.park(1);
      } else {
        Time.yieldProcessor();
      }
    }
    return true;
  }
}
