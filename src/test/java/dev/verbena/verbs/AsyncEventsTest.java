package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.internal.Codes;
import dev.verbena.internal.calls.CriticalCalls;
import dev.verbena.internal.calls.NativeSharedReceiveQueueCalls;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_context;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.AsyncEventType;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Asynchronous events. */
class AsyncEventsTest {
  private static final Duration LONG = Await.LIMIT;
  private static final Duration SHORT = Duration.ofMillis(200);

  /** Requirements, section 6: what ibv_event_type_str says, in the order of C. */
  private static final List<String> TEXTS =
      List.of(
          "CQ error",
          "local work queue catastrophic error",
          "invalid request local work queue error",
          "local access violation work queue error",
          "communication established",
          "send queue drained",
          "path migrated",
          "path migration request error",
          "local catastrophic error",
          "port active",
          "port error",
          "LID change",
          "P_Key change",
          "SM change",
          "SRQ catastrophic error",
          "SRQ limit reached",
          "last WQE reached",
          "client reregistration",
          "GID table change",
          "WQ fatal",
          "Device link speed change",
          "unknown");

  @Test
  void textsAreThoseOfC() {
    AsyncEventType[] types = AsyncEventType.values();
    assertEquals(TEXTS.size(), types.length);
    for (int i = 0; i < types.length - 1; i++) {
      assertEquals(i, types[i].code());
      assertEquals(TEXTS.get(i), types[i].text());
    }
    assertEquals("unknown", AsyncEventType.UNKNOWN.text());
    assertSame(
        AsyncEventType.UNKNOWN,
        Codes.of(AsyncEventType.class, types.length, AsyncEventType.UNKNOWN));
  }

  @DeviceTest
  void overrunEventHasTheCompletionQueue() throws InterruptedException {
    try (Context context = Rig.a().open()) {
      CompletionQueue cq = overrun(context);
      var event =
          assertInstanceOf(AsyncEvent.OfCompletionQueue.class, AsyncEvents.of(context).poll(LONG));
      assertSame(AsyncEventType.CQ_ERR, event.type());
      assertSame(cq, event.completionQueue());
    }
  }

  /** Fills a small queue with more completions of flushed receives than it holds. */
  private static CompletionQueue overrun(Context context) {
    CompletionQueue cq = context.completionQueue(1).withoutCapacityWarning().create();
    int receives = cq.capacity() + 2;
    QueuePair qp =
        QueuePair.builder(context.allocateProtectionDomain(), QueuePairType.RC)
            .completions(cq)
            .capacity(QueuePairCapacity.of(receives))
            .create();
    qp.connect(qp.localAddress());
    assertEquals(receives, qp.post(new ReceiveList(receives, 1)));
    qp.fail();
    return cq;
  }

  @DeviceTest
  void drainedEventHasTheQueuePair() throws InterruptedException {
    try (Loop loop = new Loop()) {
      loop.qp.startDrainingWithEvent();
      var event =
          assertInstanceOf(AsyncEvent.OfQueuePair.class, AsyncEvents.of(loop.context).poll(LONG));
      assertSame(AsyncEventType.SQ_DRAINED, event.type());
      assertSame(loop.qp, event.queuePair());
      loop.qp.close(); // C waits in here for the acknowledgement.
    }
  }

  @DeviceTest
  void limitEventHasTheSharedReceiveQueue() throws InterruptedException {
    try (Context context = Rig.a().open();
        Arena arena = Arena.ofShared()) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      CompletionQueue cq = context.createCompletionQueue(16);
      SharedReceiveQueue srq = SharedReceiveQueue.builder(pd, 8).create();
      QueuePair qp =
          QueuePair.builder(pd, QueuePairType.RC).completions(cq).sharedReceiveQueue(srq).create();
      MemoryRegion region = pd.registerMemory(arena.allocate(64), AccessFlag.LOCAL_WRITE);
      ReceiveList receives = new ReceiveList(4, 1);
      for (int i = 0; i < 4; i++) {
        receives.local(i, region, 0, 8);
      }
      var calls = new NativeSharedReceiveQueueCalls(srq.address(), new CriticalCalls(false));
      assertEquals(0, calls.ibv_post_srq_recv(receives.chain(0, 4), receives.badRequestWord()));
      srq.limit(4);
      qp.connect(qp.localAddress());
      SendList sends = new SendList(1, 1);
      sends.send(0).local(region, 8, 8).signaled();
      assertEquals(1, qp.post(sends));
      var event =
          assertInstanceOf(
              AsyncEvent.OfSharedReceiveQueue.class, AsyncEvents.of(context).poll(LONG));
      assertSame(AsyncEventType.SRQ_LIMIT_REACHED, event.type());
      assertSame(srq, event.queue());
    }
  }

  @DeviceTest
  void eventOfAForeignObjectHasItsAddress() throws InterruptedException {
    try (Context context = Rig.a().open()) {
      assertNull(AsyncEvents.of(context).poll()); // The context itself reads no more events.
      CompletionQueue cq = overrun(context);
      try (Context borrowed =
          Context.borrow(Memory.at(context.segment().address(), ibv_context.sizeof()))) {
        var event =
            assertInstanceOf(AsyncEvent.OfForeignObject.class, AsyncEvents.of(borrowed).poll(LONG));
        assertSame(AsyncEventType.CQ_ERR, event.type());
        assertEquals(cq.segment().address(), event.object().address());
      }
    }
  }

  @DeviceTest
  void eventsOfClosedQueuesAreAcknowledged() {
    Context context = Rig.a().open();
    overrun(context);
    context.close(); // The event was never read.
  }

  @DeviceTest
  void waitEndsWhenTheTimeoutExpires() throws InterruptedException {
    try (Context context = Rig.a().open()) {
      assertNull(AsyncEvents.of(context).poll());
      assertNull(AsyncEvents.of(context).poll(SHORT));
    }
  }

  @DeviceTest
  void aWaitEndsOnInterruptAndOnClose() throws Exception {
    Context context = Rig.a().open();
    for (boolean interrupt : new boolean[] {true, false}) {
      CompletableFuture<AsyncEvent> result = new CompletableFuture<>();
      Thread thread =
          Thread.startVirtualThread(
              () -> {
                try {
                  result.complete(AsyncEvents.of(context).take());
                } catch (Throwable t) {
                  result.completeExceptionally(t);
                }
              });
      Await.waits(thread);
      if (interrupt) {
        thread.interrupt();
      } else {
        context.close();
      }
      var failure = assertThrows(ExecutionException.class, result::get);
      Class<?> expected = interrupt ? InterruptedException.class : IllegalStateException.class;
      assertSame(expected, failure.getCause().getClass());
    }
    assertThrows(IllegalStateException.class, AsyncEvents.of(context)::poll);
  }

  @DeviceTest
  void listenerReceivesEveryEventUntilClosed() throws InterruptedException {
    try (Context context = Rig.a().open()) {
      BlockingQueue<AsyncEvent> heard = new LinkedBlockingQueue<>();
      AtomicReference<Thread> thread = new AtomicReference<>();
      AsyncEvents.Listening listening =
          AsyncEvents.of(context)
              .listen(
                  event -> {
                    thread.set(Thread.currentThread());
                    heard.add(event);
                  });
      CompletionQueue first = overrun(context);
      CompletionQueue second = overrun(context);
      Set<CompletionQueue> failed = new HashSet<>(); // Devices report them in any order.
      while (failed.size() < 2) {
        AsyncEvent event = heard.take();
        if (event instanceof AsyncEvent.OfCompletionQueue(var type, var cq)) {
          assertSame(AsyncEventType.CQ_ERR, type);
          failed.add(cq);
        }
      }
      assertEquals(Set.of(first, second), failed);
      listening.close();
      listening.close();
      assertTrue(!thread.get().isAlive());
    }
  }

  @DeviceTest
  void closeEndsAlthoughTheListenerDoesNotReturn() throws InterruptedException {
    CountDownLatch called = new CountDownLatch(1);
    CountDownLatch end = new CountDownLatch(1);
    try (Context context = Rig.a().open()) {
      AsyncEvents.Listening listening =
          AsyncEvents.of(context)
              .listen(
                  event -> {
                    called.countDown();
                    awaitIgnoringInterrupts(end);
                  });
      overrun(context);
      called.await();
      Duration soon = Duration.ofMillis(1);
      var stuck = assertThrows(IllegalStateException.class, () -> listening.close(soon));
      assertTrue(stuck.getMessage().contains("its listener does not return"), stuck.getMessage());
      end.countDown();
      listening.close();
    }
  }

  private static void awaitIgnoringInterrupts(CountDownLatch latch) {
    while (latch.getCount() > 0) {
      Thread.onSpinWait();
    }
  }

  @DeviceTest
  void listenerThatThrowsReceivesFurtherEvents() throws InterruptedException {
    try (Context context = Rig.a().open()) {
      BlockingQueue<AsyncEvent> heard = new LinkedBlockingQueue<>();
      BlockingQueue<Throwable> uncaught = new LinkedBlockingQueue<>();
      AsyncEvents.Listening listening =
          AsyncEvents.of(context)
              .listen(
                  event -> {
                    Thread.currentThread()
                        .setUncaughtExceptionHandler((thread, t) -> uncaught.add(t));
                    heard.add(event);
                    throw new IllegalArgumentException("on purpose");
                  });
      overrun(context);
      overrun(context);
      for (int i = 0; i < 2; i++) {
        assertInstanceOf(IllegalArgumentException.class, uncaught.take());
      }
      assertTrue(heard.size() >= 2);
      listening.close();
    }
  }

  @DeviceTest
  void listeningEndsWithTheContext() throws InterruptedException {
    Context context = Rig.a().open();
    AsyncEvents.Listening listening = AsyncEvents.of(context).listen(event -> {});
    context.close();
    listening.close();
  }
}
