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
import org.junit.jupiter.api.Test;
import org.junit.platform.commons.JUnitException;
import org.opentest4j.AssertionFailedError;

/** A full stack of a thread that posts or polls: a StackOverflowError, and the JVM goes on. */
class FullStackTest {
  @Test
  void callsOutliveAFullStackInInterpretedCode() {
    assertEquals("a message arrives", lastLine("-Xint"));
  }

  @Test
  void callsOutliveAFullStackInCodeOfC1() {
    assertEquals("a message arrives", lastLine("-XX:TieredStopAtLevel=1"));
  }

  @Test
  void callsOutliveAFullStackInCodeOfBothCompilers() {
    assertEquals("a message arrives", lastLine("-XX:+TieredCompilation"));
  }

  private static String lastLine(String option) {
    return new ForkedJvm()
        .with("-Xss256k", option)
        .withNativeAccess()
        .withJarOf(Test.class)
        .withJarOf(AssertionFailedError.class)
        .withJarOf(JUnitException.class)
        .run(Overflowing.class)
        .succeeded()
        .strip()
        .lines()
        .toList()
        .getLast();
  }

  /** Posts and polls at every depth of the stack. */
  static final class Overflowing {
    private static final int ROUNDS = 8;

    private final SoftPair pair;
    private final QueuePair extended;
    private final ExtendedCompletionQueue queue;
    private final ReceiveList receives = new ReceiveList(1, 1);
    private final SendList sends = new SendList(1, 1);
    private final Completions completions = new Completions(4);
    private int overflows;

    private Overflowing(SoftPair pair) {
      this.pair = pair;
      extended =
          QueuePair.builder(pair.a.domain, QueuePairType.RC)
              .completions(pair.a.completions)
              .capacity(QueuePairCapacity.of(16))
              .sendOperations(SendOperation.SEND)
              .create();
      queue = pair.a.context.completionQueue(16).createExtended(CompletionField.BYTE_LEN);
      receives.local(0, pair.b.region, 0, 8);
      sends.send(0).local(pair.a.region, 0, 8).signaled();
    }

    public static void main(String[] args) throws InterruptedException {
      try (SoftPair pair = SoftPair.connected()) {
        Overflowing overflowing = new Overflowing(pair);
        Thread thread = Thread.ofPlatform().start(overflowing::overflow);
        thread.join();
        if (overflowing.overflows != ROUNDS) {
          throw new AssertionError(overflowing.overflows + " overflows");
        }
        overflowing.extended.close();
      }
      try (SoftPair pair = SoftPair.connected()) {
        pair.transfer(1, 64);
      }
      System.out.println("a message arrives");
    }

    private void overflow() {
      for (int i = 0; i < ROUNDS; i++) {
        try {
          descend(i % 4);
        } catch (StackOverflowError e) {
          overflows++;
        }
      }
    }

    @SuppressWarnings("InfiniteRecursion") // Until the stack is full.
    private void descend(int call) {
      call(call);
      descend(call);
    }

    private void call(int call) {
      switch (call) {
        case 0 -> {
          int _ = pair.b.queuePair.post(receives);
          int _ = pair.a.queuePair.post(sends);
        }
        case 1 -> {
          int _ = pair.b.completions.poll(completions);
          int _ = pair.a.completions.poll(completions);
        }
        case 2 -> {
          try (Posting posting = extended.startPosting()) {
            posting.send().id(1);
          }
        }
        default -> {
          try (CompletionCursor cursor = queue.startPolling()) {
            if (cursor.next()) {
              throw new AssertionError("nothing was posted");
            }
          }
        }
      }
    }
  }
}
