package dev.verbena.s3.server;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;

/** Holds requests at one point until it is opened. */
public final class Gate {
  private final Semaphore arrivals = new Semaphore(0);
  private final CountDownLatch opened = new CountDownLatch(1);

  Gate() {}

  /**
   * Waits for a request that arrives here; each call for another one.
   *
   * @throws InterruptedException if the thread is interrupted
   */
  public void awaitRequest() throws InterruptedException {
    arrivals.acquire();
  }

  /** Lets all requests go on, those that arrive later, too. */
  public void open() {
    opened.countDown();
  }

  void pass() {
    arrivals.release();
    try {
      opened.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException("interrupted at a gate", e);
    }
  }
}
