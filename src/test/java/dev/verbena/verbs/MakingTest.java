package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.raw.ibv_td;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Objects that are made while others close what they are made on. */
@Timeout(60)
class MakingTest extends FakeDeviceFixture {
  private final CountDownLatch inside = new CountDownLatch(1);
  private final CountDownLatch goOn = new CountDownLatch(1);
  private final List<String> calls = Collections.synchronizedList(new ArrayList<>());

  public long alloc_td(long context, long attributes) throws InterruptedException {
    calls.add("ibv_alloc_td");
    inside.countDown();
    return goOn.await(2, TimeUnit.MINUTES) ? made(ibv_td.layout(), context) : 0;
  }

  public int dealloc_td(long td) {
    calls.add("ibv_dealloc_td");
    return gone();
  }

  @Test
  void contextIsNotClosedWhileAnObjectIsCreated() throws Exception {
    FutureTask<ThreadDomain> made = new FutureTask<>(context::allocateThreadDomain);
    Thread.ofPlatform().daemon().start(made);
    inside.await();
    Thread closer = Thread.ofPlatform().daemon().start(context::close);
    while (context.isOpen()) {
      Thread.sleep(1);
    }
    assertFalse(closer.join(Duration.ofMillis(100)), "C is still inside");
    assertThrows(IllegalStateException.class, context::allocateProtectionDomain);
    goOn.countDown();
    ThreadDomain domain = made.get(2, TimeUnit.MINUTES);
    assertTrue(closer.join(Duration.ofMinutes(2)));
    assertFalse(domain.isOpen());
    assertEquals(List.of("ibv_alloc_td", "ibv_dealloc_td"), calls);
  }
}
