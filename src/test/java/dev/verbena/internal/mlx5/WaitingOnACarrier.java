package dev.verbena.internal.mlx5;

import dev.verbena.testing.Await;

/**
 * A virtual thread that waits for the owner of a lock, and another one that keeps the only carrier
 * until the owner has the lock again.
 */
final class WaitingOnACarrier {
  private static volatile boolean isBusy;
  private static volatile boolean isLockedAgain;

  private WaitingOnACarrier() {}

  public static void main(String[] arguments) throws InterruptedException {
    QueueLock lock = new QueueLock();
    lock.lock();
    Thread busy =
        Thread.ofVirtual()
            .unstarted(
                () -> {
                  isBusy = true;
                  while (!isLockedAgain) {
                    Thread.onSpinWait();
                  }
                });
    Thread waiting =
        Thread.ofVirtual()
            .start(
                () -> {
                  busy.start(); // In the queue of the carrier, so that it is next.
                  lock.lock();
                  lock.unlock();
                });
    for (int tries = 0; !isBusy; tries++) { // It has the carrier when the other one yields.
      Await.spin(tries);
    }
    lock.unlock();
    lock.lock();
    isLockedAgain = true;
    lock.unlock();
    waiting.join();
    busy.join();
    System.out.println("locked again");
  }
}
