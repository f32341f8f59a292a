package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.raw.ibv_td;
import dev.verbena.testing.Await;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;

/** Objects that are made while others close what they are made on. */
class MakingTest extends FakeDeviceFixture {
  private final CountDownLatch inside = new CountDownLatch(1);
  private final CountDownLatch goOn = new CountDownLatch(1);
  private final List<String> calls = Collections.synchronizedList(new ArrayList<>());

  public long alloc_td(long context, long attributes) throws InterruptedException {
    calls.add("ibv_alloc_td");
    inside.countDown();
    goOn.await();
    return made(ibv_td.layout(), context);
  }

  public int dealloc_td(long td) {
    calls.add("ibv_dealloc_td");
    return gone();
  }

  @Test
  void contextIsNotClosedWhileAnObjectIsCreated() throws Exception {
    FutureTask<ThreadDomain> made = new FutureTask<>(() -> ThreadDomain.allocate(context));
    Thread.ofPlatform().daemon().start(made);
    inside.await();
    Thread closer = Thread.ofPlatform().daemon().start(context::close);
    Await.until("the begin of closing", () -> !context.isOpen());
    assertFalse(closer.join(Duration.ofMillis(100)), "C is still inside");
    assertThrows(IllegalStateException.class, context::allocateProtectionDomain);
    goOn.countDown();
    ThreadDomain domain = made.get();
    closer.join();
    assertFalse(domain.isOpen());
    assertEquals(List.of("ibv_alloc_td", "ibv_dealloc_td"), calls);
  }
}
