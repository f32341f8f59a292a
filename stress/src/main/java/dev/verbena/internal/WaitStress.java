package dev.verbena.internal;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import java.util.concurrent.locks.ReentrantLock;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** Two threads that wait for events of one descriptor, each of which may be for the other one. */
final class WaitStress {
  private WaitStress() {}

  /** If a thread misses its event, it does not end, and the test fails by its timeout. */
  @JCStressTest
  @State
  @Outcome(id = "1, 1", expect = ACCEPTABLE, desc = "Each thread got its event.")
  @Outcome(expect = FORBIDDEN, desc = "A thread did not get its event.")
  public static class TwoThreadsOneDescriptor {
    private final ReentrantLock lock = new ReentrantLock();
    private final SharedWait wait = new SharedWait(lock);

    /** The events that were read; guarded by the lock. */
    private int read;

    private int await(int event) {
      lock.lock();
      try {
        while (read < event) {
          if (wait.begin(Long.MAX_VALUE)) {
            lock.unlock();
            try {
              Thread.onSpinWait(); // The descriptor has both events from the start.
            } finally {
              lock.lock();
              wait.end();
              read++;
            }
          }
        }
        return 1;
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      } finally {
        lock.unlock();
      }
    }

    @Actor
    public void first(II_Result result) {
      result.r1 = await(1);
    }

    @Actor
    public void second(II_Result result) {
      result.r2 = await(2);
    }
  }
}
