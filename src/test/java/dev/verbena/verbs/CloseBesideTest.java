package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.fake.FakeProvider;
import dev.verbena.fake.SlowCalls;
import dev.verbena.testing.Await;
import java.lang.foreign.Arena;
import java.util.concurrent.FutureTask;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * What one thread closes while another one posts to it or polls it: C never works on an object that
 * is destroyed, and the other thread gets an exception that names the object.
 */
class CloseBesideTest {
  private static final int ROUNDS = 20;

  private final Arena arena = Arena.ofShared();
  private final FakeProvider provider = new FakeProvider();
  private final SlowCalls slow = new SlowCalls(provider);
  private final Context context = FakeDevices.of(provider.play(slow)).open();
  private final ProtectionDomain domain = context.allocateProtectionDomain();
  private final CompletionChannel channel = context.createCompletionChannel();
  private final CompletionQueue queue = context.completionQueue(32).channel(channel).create();
  private final MemoryRegion region =
      domain.registerMemory(arena.allocate(64), AccessFlag.LOCAL_WRITE);

  @AfterEach
  void close() {
    context.close();
    provider.close(); // Throws if C worked on an object that was destroyed.
    arena.close();
  }

  private QueuePair queuePair(QueuePairType type) {
    return domain.queuePair(type).completions(queue).capacity(QueuePairCapacity.of(8)).create();
  }

  /** Closes an object while another thread uses it without a pause. */
  private <R extends Resource> void closedBeside(R resource, Consumer<R> use) throws Exception {
    var using =
        new FutureTask<>(
            () ->
                assertThrows(
                    IllegalStateException.class,
                    () -> {
                      while (true) {
                        use.accept(resource);
                      }
                    }));
    int before = slow.begun.get();
    Thread.ofPlatform().start(using);
    Await.until("a call of C", () -> slow.begun.get() > before + 2 || using.isDone());
    String name = resource.toString();
    resource.close();
    String message = using.get().getMessage();
    assertTrue(message.contains(name) && message.endsWith("is closed"), message);
  }

  @Test
  void closeWaitsForPoll() throws Exception {
    for (int i = 0; i < ROUNDS; i++) {
      Completions completions = new Completions(4);
      closedBeside(context.completionQueue(8).create(), polled -> polled.poll(completions));
    }
  }

  @Test
  void closeWaitsForTheHandlerOfAPoll() throws Exception {
    for (int i = 0; i < ROUNDS; i++) {
      closedBeside(context.completionQueue(8).create(), polled -> polled.poll((batch, n) -> {}, 4));
    }
  }

  @Test
  void closeWaitsForARequestOfNotification() throws Exception {
    for (int i = 0; i < ROUNDS; i++) {
      closedBeside(
          context.completionQueue(8).channel(channel).create(),
          CompletionQueue::requestNotification);
    }
  }

  @Test
  void closeWaitsForPostSend() throws Exception {
    SendList list = new SendList(1, 1);
    list.send(0).local(region, 0, 8);
    for (int i = 0; i < ROUNDS; i++) {
      closedBeside(
          queuePair(QueuePairType.RC),
          posted -> {
            int _ = posted.post(list);
          });
    }
  }

  @Test
  void closeWaitsForPostRecv() throws Exception {
    ReceiveList list = new ReceiveList(1, 1);
    for (int i = 0; i < ROUNDS; i++) {
      closedBeside(
          queuePair(QueuePairType.RC),
          posted -> {
            int _ = posted.post(list);
          });
    }
  }

  @Test
  void closeWaitsForPostSrqRecv() throws Exception {
    ReceiveList list = new ReceiveList(1, 1);
    for (int i = 0; i < ROUNDS; i++) {
      closedBeside(
          domain.createSharedReceiveQueue(8),
          posted -> {
            int _ = posted.post(list);
          });
    }
  }

  @Test
  void closeWaitsForPostsThatNameTheAddressHandle() throws Exception {
    QueuePair posted = queuePair(QueuePairType.UD);
    SendList list = new SendList(1, 1);
    for (int i = 0; i < ROUNDS; i++) {
      AddressHandle handle = domain.createAddressHandle(FakeDevices.PATH);
      list.send(0).local(region, 0, 8).to(handle, 1, 1);
      closedBeside(
          handle,
          named -> {
            int _ = posted.post(list);
          });
    }
  }

  @Test
  void closingTheContextClosesQueuesInUse() throws Exception {
    for (int i = 0; i < 10; i++) {
      Context other = FakeDevices.of(provider).open();
      CompletionQueue polled = other.completionQueue(8).create();
      Completions completions = new Completions(4);
      closedBeside(polled, q -> q.poll(completions));
      other.close();
    }
  }

  @Test
  void aHandlerMayCloseItsQueue() {
    FakeProvider other = new FakeProvider();
    Context of = FakeDevices.of(other).open();
    CompletionQueue closing = of.completionQueue(64).create();
    QueuePair flushed =
        of.allocateProtectionDomain()
            .queuePair(QueuePairType.RC)
            .completions(closing)
            .capacity(QueuePairCapacity.of(32))
            .create();
    flushed.connect(flushed.localAddress());
    assertEquals(32, flushed.post(new ReceiveList(32, 1)));
    flushed.fail();
    int[] handled = {0};
    int taken =
        closing.poll(
            (batch, i) -> {
              handled[0]++;
              closing.close();
            },
            32);
    assertEquals(taken, handled[0]);
    assertFalse(closing.isOpen());
    of.close();
    other.close();
  }

  @Test
  void twoThreadsCannotUseOneListAtTheSameTime() throws Exception {
    QueuePair posted = queuePair(QueuePairType.RC);
    ReceiveList list = new ReceiveList(1, 1);
    list.enter();
    try {
      var refused = assertThrows(IllegalStateException.class, () -> posted.post(list)).getMessage();
      assertTrue(refused.contains("two threads use one ReceiveList"), refused);
    } finally {
      list.leave();
    }
    assertEquals(1, posted.post(list));
  }
}
