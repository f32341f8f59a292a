package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.fake.FakeProvider;
import dev.verbena.fake.SlowCalls;
import dev.verbena.internal.jfr.ObjectName;
import dev.verbena.internal.life.DataPathEntry;
import dev.verbena.testing.Await;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.Arena;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
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
    return QueuePair.builder(domain, type)
        .completions(queue)
        .capacity(QueuePairCapacity.of(8))
        .create();
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
    String name = ObjectName.of(resource);
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
          SharedReceiveQueue.create(domain, 8),
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
  void twoThreadsCannotUseOneListAtTheSameTime() throws Exception {
    QueuePair posted = queuePair(QueuePairType.RC);
    ReceiveList list = new ReceiveList(1, 1);
    DataPathEntry entry = list.user.enter();
    String refused = inAnotherThread(() -> posted.post(list));
    assertTrue(refused.contains("two threads use one ReceiveList"), refused);
    assertTrue(refused.contains(Thread.currentThread().getName()), refused);
    entry.leave();
    assertEquals(1, posted.post(list));
    assertEquals("", inAnotherThread(() -> posted.post(list)));
    assertEquals(1, posted.post(list));
  }

  /** Runs a post in another thread; returns the message of its exception, or an empty string. */
  private static String inAnotherThread(Callable<Integer> post) throws Exception {
    FutureTask<String> task =
        new FutureTask<>(
            () -> {
              try {
                assertEquals(1, post.call());
                return "";
              } catch (IllegalStateException e) {
                return e.getMessage();
              }
            });
    Thread.ofPlatform().start(task);
    return task.get();
  }

  @Test
  void aListMayBeUsedByOneThreadAfterTheOther() throws Exception {
    QueuePair posted = queuePair(QueuePairType.RC);
    ReceiveList list = new ReceiveList(1, 1);
    for (int i = 0; i < ROUNDS; i++) {
      assertEquals("", inAnotherThread(() -> posted.post(list)));
      assertEquals(1, posted.post(list));
    }
    closedBeside(
        posted,
        q -> {
          int _ = q.post(list);
        });
  }

  /** Each thread in turn; after some of them the list is one that threads share. */
  @Test
  void aListKeepsNothingThatAThreadRefersTo() throws Exception {
    QueuePair posted = queuePair(QueuePairType.RC);
    ReceiveList list = new ReceiveList(1, 1);
    for (int i = 0; i < ROUNDS; i++) {
      WeakReference<Object> referent = postedByAThreadWithAReferent(posted, list);
      Await.until(
          "what the thread referred to is collected",
          () -> {
            System.gc();
            return referent.refersTo(null);
          });
    }
    assertEquals(1, posted.post(list));
  }

  private static WeakReference<Object> postedByAThreadWithAReferent(
      QueuePair posted, ReceiveList list) throws Exception {
    Object referent = new Object();
    Thread.ofVirtual().start(() -> assertEquals(1, posted.post(list), referent::toString)).join();
    return new WeakReference<>(referent);
  }

  /**
   * The threads get exceptions, but closing does not wait for a call that ended, and the lists can
   * be used again by one thread.
   */
  @Test
  void closeReturnsAfterThreadsSharedAList() throws Exception {
    FakeProvider quick = new FakeProvider();
    try (Context shared = FakeDevices.of(quick).open()) {
      for (int round = 0; round < ROUNDS; round++) {
        CompletionQueue polled = shared.completionQueue(8).create();
        Completions completions = new Completions(4);
        AtomicInteger inside = new AtomicInteger();
        Callable<Integer> misuse =
            () -> {
              int refused = 0;
              for (int i = 0; i < 5_000; i++) {
                try {
                  DataPathEntry entry = completions.user.enter();
                  try {
                    completions.check(polled);
                    assertEquals(1, inside.incrementAndGet(), "threads in C");
                  } finally {
                    inside.decrementAndGet();
                    entry.leave();
                  }
                } catch (IllegalStateException e) {
                  assertTrue(e.getMessage().contains("two threads use one"), e.getMessage());
                  refused++;
                }
              }
              return refused;
            };
        List<FutureTask<Integer>> users =
            List.of(new FutureTask<>(misuse), new FutureTask<>(misuse));
        users.forEach(user -> Thread.ofPlatform().start(user));
        for (FutureTask<Integer> user : users) {
          int _ = user.get();
        }
        assertEquals(0, polled.poll(completions));
        polled.core.close(Duration.ofSeconds(60));
      }
    }
    quick.close();
  }

  @Test
  void closeNamesTheThreadThatDoesNotReturn() throws Exception {
    QueuePair posted = queuePair(QueuePairType.RC);
    ReceiveList list = new ReceiveList(1, 1);
    assertEquals(1, posted.post(list));
    DataPathEntry entry = list.user.enter();
    FutureTask<String> closing =
        new FutureTask<>(
            () ->
                assertThrows(
                        IllegalStateException.class, () -> posted.core.close(Duration.ofMillis(10)))
                    .getMessage());
    Thread.ofPlatform().start(closing);
    assertEquals(
        ObjectName.of(posted)
            + " cannot be closed: thread "
            + Thread.currentThread().getName()
            + " does not return from a call with its ReceiveList",
        closing.get());
    assertTrue(posted.isOpen());
    entry.leave();
    posted.close();
  }

  /** As after an error in a thread that has terminated, or goes on with the list. */
  @Test
  void anUnfinishedCallOfAThreadDoesNotPreventLaterOnes() throws Exception {
    QueuePair posted = queuePair(QueuePairType.RC);
    ReceiveList list = new ReceiveList(1, 1);
    assertEquals(1, posted.post(list));
    DataPathEntry _ = list.user.enter();
    assertEquals(1, posted.post(list));
    Thread.ofPlatform().start(list.user::enter).join();
    assertEquals(1, posted.post(list));
    Thread.ofPlatform().start(list.user::enter).join();
    posted.core.close(Duration.ofMillis(10));
  }
}
