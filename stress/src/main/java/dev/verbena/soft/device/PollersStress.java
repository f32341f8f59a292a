package dev.verbena.soft.device;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import dev.verbena.soft.SoftNetwork;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import java.util.Objects;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

/** Two threads poll a queue of a software device. */
final class PollersStress {
  private static final Context CONTEXT = SoftNetwork.create().addDevice("soft0").open();

  private PollersStress() {}

  /** The queue has all completions from the start. */
  @JCStressTest
  @State
  @Outcome(id = "0", expect = ACCEPTABLE, desc = "Each completion was returned once.")
  @Outcome(expect = FORBIDDEN, desc = "Completions were lost or returned twice.")
  public static class TwoPollers {
    private static final int COUNT = 256;

    private final CompletionQueue queue = CONTEXT.createCompletionQueue(COUNT);
    private final Poller first = new Poller();
    private final Poller second = new Poller();

    /** A thread, and how often it got the completion of each id. */
    private final class Poller {
      private final Completions completions = new Completions(1);
      private final int[] polled = new int[COUNT];

      void poll() {
        while (queue.poll(completions) > 0) {
          polled[(int) completions.id(0)]++;
        }
      }
    }

    public TwoPollers() {
      SoftCompletionQueue filled =
          Objects.requireNonNull(SoftCompletionQueue.at(queue.segment().address()));
      Completion completion = new Completion();
      for (int id = 0; id < COUNT; id++) {
        completion.wrId = id;
        filled.add(completion, false);
      }
    }

    @Actor
    public void first() {
      first.poll();
    }

    @Actor
    public void second() {
      second.poll();
    }

    @Arbiter
    public void count(I_Result result) {
      for (int id = 0; id < COUNT; id++) {
        result.r1 += first.polled[id] + second.polled[id] == 1 ? 0 : 1;
      }
      queue.close();
    }
  }
}
