package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.life.EventReader;
import dev.verbena.raw.ibv_comp_channel;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Pipe;
import dev.verbena.testing.Rig;
import dev.verbena.verbs.AsyncEvents.Listening;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Taking events that somebody else may take first, or that go before they are read. */
class EventReaderTest {
  private final Pipe pipe = new Pipe();

  private static final class Owner extends Resource {
    Owner(Core core) {
      super(core);
    }
  }

  private final Owner owner = Core.borrow(List.of(), 1, Owner::new);

  @AfterEach
  void close() {
    pipe.close();
  }

  /** Reads like C: with read(2), and by throwing what that left in errno. */
  private Long read() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment number = arena.allocate(ValueLayout.JAVA_LONG);
      long result = pipe.read(number);
      if (result < 0) {
        throw new VerbsException("read", (int) -result);
      }
      return number.get(ValueLayout.JAVA_LONG, 0);
    }
  }

  private EventReader<Long> file(Supplier<Long> reader) {
    return new EventReader<>(owner.core, pipe.readEnd(), reader);
  }

  /** A result that has to come soon; a thread that is stuck in C does not keep the test from it. */
  private static <T> T soon(FutureTask<T> task) throws Exception {
    return started(task).get();
  }

  private static <T> FutureTask<T> started(FutureTask<T> task) {
    Thread.ofPlatform().daemon().start(task);
    return task;
  }

  private static Throwable failure(FutureTask<?> started) {
    return assertThrows(ExecutionException.class, started::get).getCause();
  }

  @Test
  void eventsComeInTheirOrder() throws InterruptedException {
    EventReader<Long> file = file(this::read);
    assertNull(file.poll());
    pipe.write(1);
    pipe.write(2);
    assertEquals(1, file.poll());
    assertEquals(2, file.take());
    assertNull(file.poll(Duration.ofMillis(1)));
  }

  @Test
  void droppedEventIsNotDelivered() throws Exception {
    EventReader<Long> file =
        file(
            () -> {
              pipe.read(); // The kernel drops what was announced by a queue that is destroyed.
              return read();
            });
    pipe.write(1);
    assertNull(soon(new FutureTask<>(file::poll)));
  }

  @Test
  void stoppingDoesNotWaitForAnEventThatWasDropped() throws Exception {
    CountDownLatch dropped = new CountDownLatch(1);
    EventReader<Long> file =
        file(
            () -> {
              pipe.read();
              dropped.countDown();
              return read();
            });
    pipe.write(1);
    FutureTask<Long> taken = started(new FutureTask<>(file::take));
    dropped.await();
    owner.close();
    soon(new FutureTask<>(file::stop, null));
    assertInstanceOf(IllegalStateException.class, failure(taken));
  }

  @Test
  void waitThatRacesWithCloseUsesNoClosedDescriptor() throws Exception {
    class Closed extends Resource {
      final EventReader<Long> events;

      Closed(Core core, Pipe pipe) {
        super(core);
        events = new EventReader<>(core, pipe.readEnd(), () -> null);
        core.beforeClose(events::stop);
      }

      @Override
      public String toString() {
        return "owner";
      }
    }

    for (int round = 0; round < 1_000; round++) {
      Pipe pipe = new Pipe();
      Closed owner =
          Core.make(List.of(), () -> 1, address -> pipe.close(), core -> new Closed(core, pipe));
      boolean virtual = round % 3 == 0;
      FutureTask<Long> taken = new FutureTask<>(owner.events::take);
      Thread taker =
          virtual ? Thread.startVirtualThread(taken) : Thread.ofPlatform().daemon().start(taken);
      for (int spins = round % 500 * 100; spins > 0; spins--) {
        Thread.onSpinWait();
      }
      owner.close();
      var thrown = assertInstanceOf(IllegalStateException.class, failure(taken));
      assertEquals("owner is closed", thrown.getMessage(), "round " + round);
      taker.join();
    }
  }

  @Test
  void ofTwoReadersOfOneDescriptorOneTakesTheEvent() throws Exception {
    EventReader<Long> borrowed = file(this::read);
    EventReader<Long> own =
        file(
            () -> {
              assertEquals(1, borrowed.poll());
              return read();
            });
    pipe.write(1);
    assertNull(soon(new FutureTask<>(own::poll)));
  }

  @Test
  void otherFailuresAreReported() {
    EventReader<Long> file =
        file(
            () -> {
              throw new VerbsException("read", Errno.EIO);
            });
    pipe.write(1);
    assertEquals(Errno.EIO, assertThrows(VerbsException.class, file::poll).errno());
  }

  @DeviceTest
  void completionEventsDoNotBlock() throws Exception {
    try (Context context = Rig.a().open();
        Arena arena = Arena.ofShared()) {
      CompletionChannel channel = context.createCompletionChannel();
      CompletionChannel borrowed =
          CompletionChannel.borrow(
              context, Memory.at(channel.segment().address(), ibv_comp_channel.sizeof()));
      assertNull(borrowed.poll());
      long event = arena.allocate(2 * Long.BYTES, Long.BYTES).address();
      FutureTask<Void> get =
          new FutureTask<>(
              () ->
                  context
                      .verbs()
                      .ibv_get_cq_event(channel.segment().address(), event, event + Long.BYTES),
              null);
      assertAgain(get);
      borrowed.close();
    }
  }

  @DeviceTest
  void asynchronousEventsDoNotBlock() throws Exception {
    try (Context context = Rig.a().open();
        Arena arena = Arena.ofShared()) {
      assertNull(AsyncEvents.of(context).poll());
      long event = arena.allocate(64, Long.BYTES).address();
      FutureTask<Void> get =
          new FutureTask<>(
              () -> context.verbs().ibv_get_async_event(context.segment().address(), event), null);
      assertAgain(get);
    }
  }

  private static void assertAgain(FutureTask<Void> get) {
    var failure = assertInstanceOf(VerbsException.class, failure(started(get)));
    assertEquals(Errno.EAGAIN, failure.errno());
  }

  @DeviceTest
  void closingQueuesWhileEventsAreReadDoesNotBlock() throws Exception {
    try (Context context = Rig.a().open()) {
      CompletionChannel channel = context.createCompletionChannel();
      FutureTask<Void> taker =
          started(
              new FutureTask<>(
                  () -> {
                    while (true) {
                      channel.poll();
                    }
                  }));
      Listening listening = AsyncEvents.of(context).listen(event -> {});
      for (int i = 0; i < 10; i++) {
        Loop loop = new Loop(context, channel);
        loop.cq.requestNotification();
        loop.send(1, false);
        loop.complete(1);
        loop.qp.close();
        loop.cq.close();
        loop.pd.close();
        loop.arena.close();
      }
      soon(new FutureTask<>(channel::close, null));
      assertInstanceOf(IllegalStateException.class, failure(taker));
      soon(new FutureTask<Void>(listening::close, null));
    }
  }
}
