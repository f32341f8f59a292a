package dev.verbena.cm;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Await;
import dev.verbena.values.QueuePairAttributes;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionWaiter;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import java.time.Duration;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

/** One thread posts requests and waits for their completions, another one observes them. */
final class OutboxStress {
  private static final Duration LONG = Duration.ofHours(1);
  private static final Context CONTEXT = SoftNetwork.create().addDevice("soft0").open();

  /** Of a queue pair in state ERR, which flushes each request. */
  private static final Transfers TRANSFERS;

  static {
    CompletionQueue queue =
        CONTEXT.completionQueue(16).channel(CONTEXT.createCompletionChannel()).create();
    QueuePair queuePair =
        QueuePair.builder(CONTEXT.allocateProtectionDomain(), QueuePairType.RC)
            .completions(queue)
            .create();
    queuePair.connect(queuePair.localAddress());
    queuePair.modify(QueuePairAttributes.builder().state(QueuePairState.ERR).build());
    CompletionWaiter waiter = new CompletionWaiter(queue, LONG);
    TRANSFERS = new Transfers(queuePair, null, waiter, waiter);
  }

  private OutboxStress() {}

  /** The failure of a request is why a connection ended, if it preceded the end. */
  @JCStressTest
  @State
  @Outcome(id = "1", expect = ACCEPTABLE, desc = "The failure was visible.")
  @Outcome(expect = FORBIDDEN, desc = "No request was outstanding, and the failure not visible.")
  public static class SenderAndObserver {
    private final ProtectionDomain domain = CONTEXT.allocateProtectionDomain();
    private final Outbox outbox = new Outbox(TRANSFERS, domain, 1, 1);
    private volatile boolean isPosted;

    @Actor
    public void send() {
      outbox.writeNothing();
      isPosted = true;
      try {
        boolean _ = outbox.awaitAll(Deadline.NEVER);
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }

    @Actor
    public void observe(I_Result result) {
      for (int tries = 0; !isPosted || outbox.hasOutstanding(); tries++) {
        Await.spin(tries);
      }
      result.r1 = outbox.failure() == null ? 0 : 1;
    }

    @Arbiter
    public void close(I_Result result) {
      domain.close();
    }
  }
}
