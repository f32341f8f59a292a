package dev.verbena.internal.mlx5;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import dev.verbena.raw.ibv_qp;
import dev.verbena.testing.ForkedJvm;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

class QueueLockTest {
  private static final int OWNERS = 8;

  private final QueueLock lock = new QueueLock();
  private int count;

  private void add() {
    lock.lock();
    count++;
    lock.unlock();
  }

  private void addOnce() {
    lock.lockOnce();
    count++;
    lock.unlockOnce();
  }

  private Object turn() throws ReflectiveOperationException {
    Field turn = QueueLock.class.getDeclaredField("turn");
    turn.setAccessible(true);
    return turn.get(lock);
  }

  /** Runs actions in a new thread each, one after the other. */
  private static void inTurn(int threads, Runnable action) throws InterruptedException {
    for (int i = 0; i < threads; i++) {
      Thread thread = Thread.ofPlatform().start(action);
      thread.join();
    }
  }

  private void run(ExecutorService threads, List<Callable<Void>> all) throws Exception {
    for (Future<Void> future : threads.invokeAll(all)) {
      future.get();
    }
  }

  private static Callable<Void> times(int times, Runnable action) {
    return () -> {
      for (int i = 0; i < times; i++) {
        action.run();
      }
      return null;
    };
  }

  @Test
  void staysWithItsOwnerBesideOthersThatLockOnce() throws Exception {
    add();
    Object mine = turn();
    inTurn(2 * OWNERS, this::addOnce);
    add();
    assertSame(mine, turn());
    assertEquals(2 * OWNERS + 2, count);
  }

  @Test
  void isOfTheThreadThatLocks() throws Exception {
    add();
    Object mine = turn();
    inTurn(1, this::add);
    Object next = turn();
    assertNotSame(mine, next);
    add();
    assertNotSame(next, turn());
    assertNotSame(mine, turn());
    assertEquals(3, count);
  }

  @Test
  void isSharedAfterManyOwners() throws Exception {
    inTurn(OWNERS + 1, this::add);
    Object shared = turn();
    inTurn(OWNERS, this::add);
    inTurn(2, this::addOnce);
    add();
    assertSame(shared, turn());
    assertEquals(2 * OWNERS + 4, count);
  }

  @Test
  void isOfOneThreadAtATime() throws Exception {
    int times = 20_000;
    try (ExecutorService threads = Executors.newCachedThreadPool()) {
      run(threads, List.of(times(times, this::add), times(times, this::addOnce)));
      assertEquals(2 * times, count);
      List<Callable<Void>> many = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        many.add(times(times, this::add));
        many.add(times(times, this::addOnce));
      }
      run(threads, many);
    }
    assertEquals(10 * times, count);
  }

  /** It would otherwise have the lock of all others than the owner while it does not run. */
  @Test
  void virtualThreadThatWaitsForTheOwnerKeepsNoLock() {
    String output =
        new ForkedJvm()
            .with("-Djdk.virtualThreadScheduler.parallelism=1")
            .with("-Djdk.virtualThreadScheduler.maxPoolSize=1")
            .withNativeAccess()
            .withJarOf(ibv_qp.class)
            .run(WaitingOnACarrier.class)
            .succeeded();
    assertEquals("locked again", output.strip());
  }

  @Test
  void isOfOneVirtualThreadAtATime() throws Exception {
    int times = 1000;
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Callable<Void>> many = new ArrayList<>();
      for (int i = 0; i < 50; i++) {
        many.add(times(times, this::add));
      }
      many.add(times(times, this::addOnce));
      run(threads, many);
    }
    assertEquals(51 * times, count);
  }
}
