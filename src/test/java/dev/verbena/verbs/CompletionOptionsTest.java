package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.CompletionField;
import dev.verbena.values.QueuePairType;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.ToLongFunction;

/** Completion queues with timestamps, and with fewer events than completions. */
@On(
    value = {SOFTWARE, MLX5},
    reason = "Soft-RoCE has neither timestamps nor moderation")
class CompletionOptionsTest {
  private static SendList message(Pair pair) {
    SendList list = new SendList(1, 1);
    list.send(0).local(pair.a.memory, 0, 8).signaled();
    return list;
  }

  @DeviceTest
  void timestampsAreThoseOfTheDeviceClock() {
    try (Pair pair = new Pair()) {
      CompletionQueue.Builder builder = pair.b.context.completionQueue(16);
      ExtendedCompletionQueue queue =
          Rig.orSkip(() -> builder.createExtended(CompletionField.COMPLETION_TIMESTAMP));
      pair.a.queuePair = pair.a.builder(QueuePairType.RC).create();
      pair.b.queuePair = pair.b.builder(QueuePairType.RC).completions(queue).create();
      pair.connect();
      for (int i = 0; i < 3; i++) {
        pair.b.receive(i);
        long before = pair.b.context.rawClock();
        pair.a.run(message(pair));
        long[] completed = {0};
        Await.until("a receive", () -> isRead(queue, CompletionCursor::timestamp, completed));
        long after = pair.b.context.rawClock();
        assertTrue(before <= completed[0], before + " " + completed[0]);
        assertTrue(completed[0] <= after, completed[0] + " " + after);
      }
    }
  }

  /** Polls once, and reads a value of the completion if there is one. */
  private static boolean isRead(
      ExtendedCompletionQueue queue, ToLongFunction<CompletionCursor> read, long[] value) {
    try (CompletionCursor cursor = queue.startPolling()) {
      if (!cursor.next()) {
        return false;
      }
      assertTrue(cursor.isSuccess());
      value[0] = read.applyAsLong(cursor);
      return true;
    }
  }

  /** Both ends, with a minute for a system clock that is set meanwhile. */
  @DeviceTest
  void wallClockTimestampsAreThoseOfTheSystemClock() {
    try (Pair pair = new Pair()) {
      List<ExtendedCompletionQueue> queues = new ArrayList<>();
      for (Pair.Side side : List.of(pair.a, pair.b)) {
        CompletionQueue.Builder builder = side.context.completionQueue(64);
        ExtendedCompletionQueue queue =
            builder.createExtended(CompletionField.COMPLETION_TIMESTAMP_WALLCLOCK);
        side.queuePair = side.builder(QueuePairType.RC).completions(queue).create();
        queues.add(queue);
      }
      pair.connect();
      long[] last = new long[2];
      for (int i = 0; i < 3; i++) {
        pair.b.receive(i);
        long before = System.currentTimeMillis() - 60_000;
        assertEquals(1, pair.a.queuePair.post(message(pair)));
        for (int end = 0; end < 2; end++) {
          try (CompletionCursor cursor = CqExTest.next(queues.get(end))) {
            assertTrue(cursor.isSuccess());
            long nanoseconds = cursor.wallClockTimestamp();
            assertTrue(nanoseconds > last[end], nanoseconds + " after " + last[end]);
            last[end] = nanoseconds;
            long time = TimeUnit.NANOSECONDS.toMillis(nanoseconds);
            assertTrue(before <= time, before + " " + time);
            assertTrue(time <= System.currentTimeMillis() + 60_000, () -> "in the future: " + time);
          }
        }
      }
    }
  }

  @DeviceTest
  void eventOfAModeratedQueueWaitsForThePeriod() throws Exception {
    Duration period = Duration.of(4000, ChronoUnit.MICROS);
    try (Pair pair = new Pair()) {
      CompletionChannel channel = pair.b.context.createCompletionChannel();
      CompletionQueue queue = pair.b.context.completionQueue(64).channel(channel).create();
      queue.moderate(16, period);
      pair.a.queuePair = pair.a.builder(QueuePairType.RC).create();
      pair.b.queuePair = pair.b.builder(QueuePairType.RC).completions(queue).create();
      pair.connect();
      for (int i = 0; i < 20; i++) { // The first takes longer in any case.
        pair.b.receive(i);
        queue.requestNotification();
        long before = System.nanoTime();
        pair.a.run(message(pair));
        assertSame(queue, channel.take());
        long nanos = System.nanoTime() - before;
        assertTrue(nanos >= period.toNanos(), () -> nanos + " ns");
        assertEquals(1, queue.poll(new Completions(2)));
      }
    }
  }

  @DeviceTest
  @On(value = MLX5, reason = "the software device has any period")
  void periodBeyondThatOfTheDeviceThrows() {
    try (Context context = Rig.a().open();
        CompletionQueue queue = context.createCompletionQueue(4)) {
      Duration most =
          Duration.of(
              context.deviceAttributes().completionModeration().maxPeriodMicros(),
              ChronoUnit.MICROS);
      queue.moderate(1, most);
      VerbsException e =
          assertThrows(VerbsException.class, () -> queue.moderate(1, most.plusNanos(1000)));
      assertEquals(Errno.EINVAL, e.errno());
    }
  }

  @DeviceTest
  @On(value = SOFTWARE, reason = "mlx5 moderates by a count and a period together")
  void moderatedQueueRaisesOneEventForSeveralCompletions() throws Exception {
    try (Pair pair = new Pair()) {
      CompletionChannel channel = pair.b.context.createCompletionChannel();
      CompletionQueue queue = pair.b.context.completionQueue(64).channel(channel).create();
      Rig.orSkip(
          () -> {
            queue.moderate(3, Duration.ZERO);
            return queue;
          });
      pair.a.queuePair = pair.a.builder(QueuePairType.RC).create();
      pair.b.queuePair = pair.b.builder(QueuePairType.RC).completions(queue).create();
      pair.connect();
      for (int i = 0; i < 3; i++) {
        pair.b.receive(i);
      }
      queue.requestNotification();
      for (int i = 0; i < 2; i++) {
        pair.a.run(message(pair));
      }
      assertNull(channel.poll());
      pair.a.run(message(pair));
      assertSame(queue, channel.take());
      Completions completions = new Completions(4);
      assertEquals(3, queue.poll(completions));
    }
  }
}
