package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.soft.Faults;
import dev.verbena.testing.Await;
import dev.verbena.testing.ForkedJvm;
import dev.verbena.testing.LoggedMessages;
import dev.verbena.values.AsyncEventType;
import dev.verbena.values.QueuePairType;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.logging.Level;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Asynchronous events of a context whose events the program does not read. */
class UnhandledEventsTest extends FakeDeviceFixture {
  private static final Duration LONG = Await.LIMIT;

  private final LoggedMessages messages =
      new LoggedMessages("dev.verbena", Level.WARNING, "asynchronous event");

  @AfterEach
  void stopListening() {
    messages.close();
  }

  private void announce(AsyncEventType type, long element) {
    provider.internals().event(context.segment().address(), type.code(), element);
  }

  private static void assertContains(String message, Object... parts) {
    for (Object part : parts) {
      assertTrue(message.contains(part.toString()), message);
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = AsyncEventType.class,
      names = {"CQ_ERR", "QP_FATAL", "QP_REQ_ERR", "QP_ACCESS_ERR", "SRQ_ERR", "DEVICE_FATAL"})
  void aFatalEventIsLogged(AsyncEventType type) throws InterruptedException {
    CompletionQueue queue = context.createCompletionQueue(4);
    SharedReceiveQueue shared = SharedReceiveQueue.create(pd, 4);
    QueuePair queuePair = QueuePair.builder(pd, QueuePairType.RC).completions(queue).create();
    Resource object =
        switch (type.concerns()) {
          case COMPLETION_QUEUE -> queue;
          case SHARED_RECEIVE_QUEUE -> shared;
          case QUEUE_PAIR -> queuePair;
          default -> null;
        };
    announce(AsyncEventType.PORT_ACTIVE, 1); // Not fatal: passed over.
    announce(type, object == null ? 0 : object.address());
    assertContains(
        messages.next(),
        "WARNING: asynchronous event IBV_EVENT_" + type,
        type.text(),
        object == null ? context.device() : object,
        "AsyncEvents.of(context of ");
  }

  @Test
  void whatWasLoggedIsReadLater() throws InterruptedException {
    CompletionQueue first = context.createCompletionQueue(4);
    CompletionQueue second = context.createCompletionQueue(4);
    announce(AsyncEventType.PORT_ERR, 1);
    announce(AsyncEventType.CQ_ERR, first.address());
    announce(AsyncEventType.CQ_ERR, second.address());
    assertContains(messages.next(), "CQ_ERR");
    assertContains(messages.next(), "CQ_ERR");
    first.close(); // As in the kernel, its event goes with it.
    AsyncEvents events = AsyncEvents.of(context);
    assertEquals(new AsyncEvent.OfPort(AsyncEventType.PORT_ERR, 1), events.take());
    var ofSecond = new AsyncEvent.OfCompletionQueue(AsyncEventType.CQ_ERR, second);
    assertEquals(ofSecond, events.poll(LONG));
    assertNull(events.poll());
    announce(AsyncEventType.CQ_ERR, second.address());
    assertEquals(ofSecond, events.poll(LONG));
    assertEquals(List.of(), messages.all(), "the program reads the events");
  }

  @Test
  void theLatestEventsAreKept() throws InterruptedException {
    int number = DeviceEvents.KEPT + 9;
    for (int i = 0; i < number; i++) {
      announce(AsyncEventType.GID_CHANGE, i);
    }
    announce(AsyncEventType.DEVICE_FATAL, 0);
    assertContains(messages.next(), "DEVICE_FATAL");
    List<AsyncEvent> read = new ArrayList<>();
    BlockingQueue<AsyncEvent> heard = new LinkedBlockingQueue<>();
    try (AsyncEvents.Listening _ = AsyncEvents.of(context).listen(heard::add)) {
      while (read.size() < DeviceEvents.KEPT) {
        read.add(heard.take());
      }
    }
    List<AsyncEvent> expected =
        IntStream.range(number + 1 - DeviceEvents.KEPT, number)
            .mapToObj(port -> new AsyncEvent.OfPort(AsyncEventType.GID_CHANGE, port))
            .collect(Collectors.toCollection(ArrayList::new));
    expected.add(new AsyncEvent.OfDevice(AsyncEventType.DEVICE_FATAL, context.device()));
    assertEquals(expected, read);
  }

  private void failToClose() {
    Faults _ = provider.network().faults().fail("ibv_close_device", 1, Errno.EBUSY);
    assertThrows(VerbsException.class, context::close);
  }

  @Test
  void eventsAreLoggedAfterAFailedClose() throws InterruptedException {
    failToClose();
    announce(AsyncEventType.DEVICE_FATAL, 0);
    assertContains(messages.next(), "DEVICE_FATAL");
    announce(AsyncEventType.DEVICE_FATAL, 0);
    assertContains(messages.next(), "DEVICE_FATAL");
    assertEquals(List.of(), messages.all());
  }

  @Test
  void listenerReceivesEventsAfterAFailedClose() throws InterruptedException {
    BlockingQueue<AsyncEvent> heard = new LinkedBlockingQueue<>();
    try (AsyncEvents.Listening _ = AsyncEvents.of(context).listen(heard::add)) {
      announce(AsyncEventType.PORT_ERR, 1);
      assertEquals(new AsyncEvent.OfPort(AsyncEventType.PORT_ERR, 1), heard.take());
      failToClose();
      announce(AsyncEventType.PORT_ACTIVE, 1);
      assertEquals(new AsyncEvent.OfPort(AsyncEventType.PORT_ACTIVE, 1), heard.take());
    }
    assertEquals(List.of(), messages.all(), "the program reads the events");
  }

  @Test
  void noThreadPerContext() {
    Set<Thread> before = Thread.getAllStackTraces().keySet();
    for (int i = 0; i < 50; i++) {
      Context opened = context.device().open();
      if (i % 2 == 0) {
        opened.close();
      } else {
        provider
            .internals()
            .event(opened.segment().address(), AsyncEventType.DEVICE_FATAL.code(), 0);
        opened.close();
      }
    }
    List<String> more =
        Thread.getAllStackTraces().keySet().stream()
            .filter(thread -> !before.contains(thread))
            .map(Thread::getName)
            .filter(name -> name.contains("verbena"))
            .toList();
    assertTrue(more.size() <= 1, more::toString);
  }

  @Test
  void unreachableContextIsCollected() throws InterruptedException {
    WeakReference<Context> forgotten = new WeakReference<>(context.device().open());
    long address = forgotten.get().segment().address();
    Await.until(
        "the collection of the context",
        () -> {
          System.gc();
          return forgotten.get() == null;
        });
    context.verbs().ibv_close_device(address);
  }

  @Test
  void loggingCanBeDisabled() {
    String on = new ForkedJvm().withNativeAccess().run(UnhandledEventsMain.class).succeeded();
    assertContains(on, "waits: true", "taken: CQ_ERR");
    String off =
        new ForkedJvm()
            .withNativeAccess()
            .with("-Ddev.verbena.logAsyncEvents=false")
            .run(UnhandledEventsMain.class)
            .succeeded();
    assertContains(off, "waits: false", "taken: CQ_ERR");
  }
}
