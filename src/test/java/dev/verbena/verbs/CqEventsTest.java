package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.address.QueuePairAddress;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_comp_channel;
import dev.verbena.raw.ibv_cq;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Rig;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;

/** Completion channels, as rdma-core's test_cq_events.py tests them, and how waits end. */
class CqEventsTest {
  private static final Duration LONG = Await.LIMIT;
  private static final Duration SHORT = Duration.ofMillis(200);

  @DeviceTest
  void oneEventPerRequestedNotification() throws InterruptedException {
    try (Context context = Rig.a().open()) {
      CompletionChannel channel = context.createCompletionChannel();
      Loop loop = new Loop(context, channel);
      loop.cq.requestNotification();
      loop.send(1, false);
      assertSame(loop.cq, channel.poll(LONG));
      loop.complete(1);
      loop.send(2, false);
      loop.complete(1);
      assertNull(channel.poll(SHORT), "nobody asked again");
      loop.cq.requestNotification();
      loop.send(3, false);
      assertSame(loop.cq, channel.take());
      loop.close();
    }
  }

  @DeviceTest
  void datagramsRaiseCompletionEvents() throws InterruptedException {
    try (Pair pair = new Pair()) {
      CompletionChannel channel = pair.b.context.createCompletionChannel();
      CompletionQueue queue = pair.b.context.completionQueue(32).channel(channel).create();
      pair.a.queuePair = pair.a.builder(QueuePairType.UD).create();
      pair.b.queuePair = pair.b.builder(QueuePairType.UD).completions(queue).create();
      pair.setup();
      QueuePairAddress b = pair.b.queuePair.localAddress();
      SendList list = new SendList(1, 1);
      list.send(0)
          .local(pair.a.memory, 0, 64)
          .to(pair.handleToB(), b.number(), b.queueKey())
          .signaled();
      Completions received = new Completions(1);
      for (int i = 0; i < 5; i++) {
        queue.requestNotification();
        pair.b.receive(i);
        pair.a.run(list);
        assertSame(queue, channel.poll(LONG));
        assertEquals(1, queue.poll(received));
        assertEquals(i, received.id(0));
      }
    }
  }

  @DeviceTest
  void earlierCompletionsRaiseNoEvent() throws InterruptedException {
    try (Context context = Rig.a().open()) {
      CompletionChannel channel = context.createCompletionChannel();
      Loop loop = new Loop(context, channel);
      loop.send(1, false);
      loop.complete(1);
      loop.cq.requestNotification();
      assertNull(channel.poll());
      assertNull(channel.poll(SHORT));
      assertNull(channel.poll(Duration.ZERO));
      assertNull(channel.poll(Duration.ofSeconds(-1)));
      loop.close();
    }
  }

  @DeviceTest
  void unsolicitedMessagesRaiseNoSolicitedEvent() throws InterruptedException {
    try (Context context = Rig.a().open()) {
      CompletionChannel channel = context.createCompletionChannel();
      Loop loop = new Loop(context, channel);
      loop.cq.requestSolicitedNotification();
      loop.send(1, false);
      loop.complete(1);
      assertNull(channel.poll(SHORT));
      loop.send(2, true);
      assertSame(loop.cq, channel.poll(LONG));
      loop.complete(1);
      loop.close();
    }
  }

  @DeviceTest
  void manyQueuesShareOneChannel() throws InterruptedException {
    try (Context context = Rig.a().open()) {
      CompletionChannel channel = context.createCompletionChannel();
      List<Loop> loops = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        loops.add(new Loop(context, channel));
      }
      Set<CompletionQueue> announced = new HashSet<>();
      for (Loop loop : loops) {
        loop.cq.requestNotification();
        loop.send(1, false);
      }
      for (int i = 0; i < loops.size(); i++) {
        announced.add(channel.poll(LONG));
      }
      assertEquals(Set.of(loops.get(0).cq, loops.get(1).cq, loops.get(2).cq), announced);
      loops.getFirst().close(); // And with it the context.
    }
  }

  @DeviceTest
  void eventsAreAcknowledgedByTheLibrary() throws InterruptedException {
    try (Context context = Rig.a().open()) {
      CompletionChannel channel = context.createCompletionChannel();
      Loop loop = new Loop(context, channel);
      // More than are acknowledged at once, and some that are not.
      for (int i = 0; i < 70; i++) {
        loop.cq.requestNotification();
        loop.send(i, false);
        assertSame(loop.cq, channel.poll(LONG));
        loop.complete(1);
      }
      loop.qp.close();
      loop.cq.close(); // C waits in here for the acknowledgement of every event.
      loop.close();
    }
  }

  @DeviceTest
  void eventsOfAClosedQueueAreDiscarded() throws InterruptedException {
    try (Context context = Rig.a().open()) {
      CompletionChannel channel = context.createCompletionChannel();
      Loop gone = new Loop(context, channel);
      gone.cq.requestNotification();
      gone.send(1, false);
      gone.complete(1);
      gone.cq.close();
      Loop loop = new Loop(context, channel);
      loop.cq.requestNotification();
      loop.send(1, false);
      assertSame(loop.cq, channel.poll(LONG));
      assertNull(channel.poll());
      loop.close();
      gone.arena.close();
    }
  }

  @DeviceTest
  void notificationWithoutChannelThrows() {
    try (Context context = Rig.a().open()) {
      CompletionQueue cq = context.createCompletionQueue(1);
      assertTrue(cq.channel().isEmpty());
      assertThrows(IllegalStateException.class, cq::requestNotification);
      assertThrows(IllegalStateException.class, () -> cq.requestSolicitedNotification());
    }
  }

  @DeviceTest
  void borrowedQueuesRaiseEvents() throws InterruptedException {
    try (Context context = Rig.a().open()) {
      CompletionChannel owner = context.createCompletionChannel();
      Loop loop = new Loop(context, owner);
      CompletionChannel channel =
          CompletionChannel.borrow(
              context, Memory.at(owner.segment().address(), ibv_comp_channel.sizeof()));
      loop.cq.requestNotification();
      loop.send(1, false);
      loop.complete(1);
      assertThrows(IllegalStateException.class, () -> channel.poll(LONG), "never borrowed");
      CompletionQueue cq = CompletionQueue.borrow(channel, struct(loop.cq));
      cq.requestNotification();
      loop.send(2, false);
      assertSame(cq, channel.poll(LONG));
      CompletionChannel another = context.createCompletionChannel();
      assertThrows(
          IllegalArgumentException.class, () -> CompletionQueue.borrow(another, struct(loop.cq)));
      cq.close();
      channel.close();
      loop.close();
    }
  }

  @DeviceTest
  void waitEndsWhenTheTimeoutExpires() throws InterruptedException {
    try (Context context = Rig.a().open()) {
      CompletionChannel channel = context.createCompletionChannel();
      long start = System.nanoTime();
      assertNull(channel.poll(SHORT));
      assertTrue(System.nanoTime() - start >= SHORT.toNanos());
    }
  }

  @DeviceTest
  void aWaitEndsOnInterrupt() throws Exception {
    try (Context context = Rig.a().open()) {
      CompletionChannel channel = context.createCompletionChannel();
      for (Thread.Builder kind : List.of(Thread.ofPlatform(), Thread.ofVirtual())) {
        var waiter = new Waiter(kind, channel::take);
        waiter.thread.interrupt();
        assertInstanceOf(InterruptedException.class, waiter.failure());
      }
      assertTrue(channel.isOpen());
    }
  }

  @DeviceTest
  void aWaitEndsWhenAnotherThreadClosesTheChannel() throws Exception {
    try (Context context = Rig.a().open()) {
      for (Thread.Builder kind : List.of(Thread.ofPlatform(), Thread.ofVirtual())) {
        CompletionChannel channel = context.createCompletionChannel();
        List<Waiter> waiters = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
          waiters.add(new Waiter(kind, channel::take));
          waiters.add(new Waiter(kind, () -> channel.poll(LONG)));
        }
        channel.close();
        for (Waiter waiter : waiters) {
          Throwable failure = waiter.failure();
          assertInstanceOf(IllegalStateException.class, failure);
          assertTrue(failure.getMessage().contains("completion channel"), failure.getMessage());
        }
        assertThrows(IllegalStateException.class, channel::poll);
      }
    }
  }

  @DeviceTest
  void aWaitEndsWhenAnotherThreadClosesTheContext() throws Exception {
    Context context = Rig.a().open();
    CompletionChannel channel = context.createCompletionChannel();
    var waiter = new Waiter(Thread.ofPlatform(), channel::take);
    context.close();
    assertInstanceOf(IllegalStateException.class, waiter.failure());
  }

  @DeviceTest
  void ofManyWaitersOneTakesTheEvent() throws Exception {
    try (Context context = Rig.a().open()) {
      CompletionChannel channel = context.createCompletionChannel();
      Loop loop = new Loop(context, channel);
      List<Waiter> waiters = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        waiters.add(new Waiter(Thread.ofVirtual(), () -> channel.poll(Duration.ofSeconds(2))));
      }
      loop.cq.requestNotification();
      loop.send(1, false);
      int taken = 0;
      for (Waiter waiter : waiters) {
        taken += waiter.result() == loop.cq ? 1 : 0;
      }
      assertEquals(1, taken);
      loop.close();
    }
  }

  /** A thread that is waiting, as far as can be told from outside. */
  private static final class Waiter {
    private final CompletableFuture<CompletionQueue> result = new CompletableFuture<>();
    private final Thread thread;

    Waiter(Thread.Builder kind, Callable<CompletionQueue> wait) throws InterruptedException {
      CountDownLatch started = new CountDownLatch(1);
      thread =
          kind.start(
              () -> {
                started.countDown();
                try {
                  result.complete(wait.call());
                } catch (Throwable t) {
                  result.completeExceptionally(t);
                }
              });
      started.await();
      Await.pass(Duration.ofMillis(100), "it waits, in C perhaps");
    }

    CompletionQueue result() throws Exception {
      return result.get();
    }

    Throwable failure() {
      return assertThrows(ExecutionException.class, result::get).getCause();
    }
  }

  private static MemorySegment struct(CompletionQueue queue) {
    return Memory.at(queue.segment().address(), ibv_cq.sizeof());
  }
}
