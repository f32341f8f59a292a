package dev.verbena.messages;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import dev.verbena.cm.FlushedTransfers;
import dev.verbena.internal.Deadline;
import dev.verbena.testing.Await;
import java.lang.foreign.MemorySegment;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

/** One thread posts requests and waits for their completions, another one observes them. */
final class OutboxStress {
  private OutboxStress() {}

  /** The failure of a request of the program is why a connection ended, if it preceded the end. */
  @JCStressTest
  @State
  @Outcome(id = "1", expect = ACCEPTABLE, desc = "The failure was visible.")
  @Outcome(expect = FORBIDDEN, desc = "No request was outstanding, and the failure not visible.")
  public static class SenderAndObserver {
    private final MessageSlots slots = new MessageSlots(FlushedTransfers.DOMAIN, 2, 1);
    private final Outbox outbox = new Outbox(FlushedTransfers.TRANSFERS, slots, 2);
    private final MemorySegment message = MemorySegment.ofArray(new byte[1]);
    private volatile boolean isPosted;

    @Actor
    public void send() {
      outbox.send(message);
      outbox.writeNothing(); // A request of the library, which does not count.
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
      slots.region().close();
    }
  }
}
