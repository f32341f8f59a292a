package dev.verbena.verbs;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import dev.verbena.testing.Await;
import dev.verbena.util.SendRing;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

/** One thread formats the requests of a ring, another one polls their completions. */
final class SendRingStress {
  private static final QueuePair QUEUE_PAIR;

  private static final SendList REQUEST = new SendList(1, 1);

  /** The completion of the only request of a ring, which all rings share. */
  private static final Completions COMPLETIONS = new Completions(1);

  static {
    @SuppressWarnings("resource") // As long as the JVM.
    RecordingDevice device = new RecordingDevice();
    CompletionQueue queue = device.context.createCompletionQueue(2);
    QUEUE_PAIR =
        QueuePair.builder(device.context.allocateProtectionDomain(), QueuePairType.RC)
            .completions(queue)
            .capacity(QueuePairCapacity.of(1))
            .create();
    device.completed = 1;
    int _ = queue.poll(COMPLETIONS);
  }

  private SendRingStress() {}

  @JCStressTest
  @State
  @Outcome(id = "0", expect = ACCEPTABLE, desc = "Each request stayed until it completed.")
  @Outcome(expect = FORBIDDEN, desc = "A request was formatted again before it completed.")
  public static class FormatterAndPoller {
    private static final int REQUESTS = 8;

    private final SendRing ring = new SendRing(QUEUE_PAIR, REQUEST, 0);

    /** What the request is formatted with: ordered by the ring alone. */
    private int request;

    private volatile int posted;

    @Actor
    public void format() {
      for (int number = 0; number < REQUESTS; number++) {
        for (int tries = 0; ring.next() < 0; tries++) {
          Await.spin(tries);
        }
        request = number;
        posted = number + 1;
      }
    }

    @Actor
    public void poll(I_Result result) {
      for (int number = 0; number < REQUESTS; number++) {
        for (int tries = 0; posted == number; tries++) {
          Await.spin(tries);
        }
        result.r1 += request == number ? 0 : 1;
        int _ = ring.completed(COMPLETIONS);
      }
    }
  }
}
