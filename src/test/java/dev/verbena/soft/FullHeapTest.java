package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.testing.ForkedJvm;
import dev.verbena.values.CompletionField;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.SendOperation;
import dev.verbena.verbs.CompletionCursor;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.ExtendedCompletionQueue;
import dev.verbena.verbs.Posting;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.platform.commons.JUnitException;
import org.opentest4j.AssertionFailedError;

/** A full Java heap: software devices report errors, and the JVM goes on. */
class FullHeapTest {
  @RepeatedTest(2)
  void postsAndPollsOutliveAFullHeap() {
    assertEquals("a message arrives", lastLine(Exhausting.class));
  }

  /** The JVM adapts a function pointer after 127 calls, for which it needs memory. */
  @Test
  void functionPointersAreAdaptedBeforeTheHeapIsFull() {
    assertEquals("all calls returned", lastLine(AlmostAdapted.class));
  }

  private static String lastLine(Class<?> program) {
    return new ForkedJvm()
        .with("-Xmx32m", "-XX:+UseSerialGC")
        .withNativeAccess()
        .withJarOf(Test.class)
        .withJarOf(AssertionFailedError.class)
        .withJarOf(JUnitException.class)
        .run(program)
        .succeeded()
        .strip()
        .lines()
        .toList()
        .getLast();
  }

  /** Calls functions of an extended queue pair and queue before and after the heap is full. */
  static final class AlmostAdapted {
    private static final int FIRST_CALLS = 60;

    /** What fills the heap. */
    private static Object[] all;

    private AlmostAdapted() {}

    public static void main(String[] args) {
      try (SoftPair pair = SoftPair.connected();
          QueuePair extended =
              QueuePair.builder(pair.a.domain, QueuePairType.RC)
                  .completions(pair.a.completions)
                  .capacity(QueuePairCapacity.of(16))
                  .sendOperations(SendOperation.SEND)
                  .create()) {
        ExtendedCompletionQueue queue =
            pair.a.context.completionQueue(16).createExtended(CompletionField.BYTE_LEN);
        for (int i = 0; i < FIRST_CALLS; i++) {
          call(extended, queue);
        }
        // Finds the class of the handler while there is memory.
        attempt(
            () -> {
              throw new OutOfMemoryError();
            });
        Runnable call = () -> call(extended, queue);
        fill();
        for (int i = 0; i < 2 * FIRST_CALLS; i++) {
          attempt(call);
        }
        all = null;
      }
      System.out.println("all calls returned");
    }

    /** Java code of the caller may need memory; a function pointer must not end the JVM. */
    private static void attempt(Runnable call) {
      try {
        call.run();
      } catch (Throwable t) {
        // The JVM has one error for all, which cannot suppress itself either.
      }
    }

    private static void call(QueuePair extended, ExtendedCompletionQueue queue) {
      try (Posting posting = extended.startPosting()) {
        posting.send().id(1);
        posting.send(); // Passes the first to C.
        // Closed without being completed: ibv_wr_abort.
      }
      try (CompletionCursor cursor = queue.startPolling()) {
        if (cursor.next()) {
          throw new AssertionError("nothing was posted");
        }
      }
    }

    private static void fill() {
      for (int size = 1 << 20; size >= 16; size /= 2) {
        try {
          while (true) {
            all = new Object[] {all, new byte[size]};
          }
        } catch (OutOfMemoryError e) {
          // Smaller pieces.
        }
      }
    }
  }

  /** Posts and polls while another thread fills the heap; then exchanges a message. */
  static final class Exhausting {
    private static final int FILLINGS = 1;

    private Exhausting() {}

    public static void main(String[] args) throws InterruptedException {
      for (int i = 0; i < FILLINGS; i++) {
        exchangeWithFullHeap();
      }
      try (SoftPair pair = SoftPair.connected()) {
        pair.transfer(1, 64);
      }
      System.out.println("a message arrives");
    }

    private static void exchangeWithFullHeap() throws InterruptedException {
      try (SoftPair pair = SoftPair.connected()) {
        pair.transfer(1, 8); // Loads the classes of the program itself.
        ReceiveList receives = new ReceiveList(1, 1);
        receives.local(0, pair.b.region, 0, 8);
        SendList sends = new SendList(1, 1);
        sends.send(0).local(pair.a.region, 0, 8).signaled();
        Completions completions = new Completions(4);
        AtomicBoolean full = new AtomicBoolean();
        Thread filler = Thread.ofPlatform().start(() -> fill(full));
        while (filler.isAlive()) {
          try {
            int _ = pair.b.queuePair.post(receives);
            int _ = pair.a.queuePair.post(sends);
            int _ = pair.b.completions.poll(completions);
            int _ = pair.a.completions.poll(completions);
          } catch (Throwable e) {
            // Whatever reaches the caller is permitted while the heap is full.
          }
        }
        filler.join();
      }
    }

    private static void fill(AtomicBoolean full) {
      Object[] all = null;
      int size = 1 << 20;
      int failures = 0;
      while (failures < 60) {
        try {
          all = new Object[] {all, new byte[size]};
        } catch (OutOfMemoryError e) {
          size = Math.max(16, size / 2);
          failures++;
        }
      }
      full.set(all == null);
    }
  }
}
