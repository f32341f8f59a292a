package dev.verbena.cm;

import dev.verbena.soft.SoftNetwork;
import dev.verbena.values.QueuePairAttributes;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionWaiter;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import java.time.Duration;

/** A queue pair in state ERR, which flushes each request, and whose completions are polled. */
public final class FlushedTransfers {
  private static final Context CONTEXT = SoftNetwork.create().addDevice("soft0").open();

  /** The protection domain of the queue pair. */
  public static final ProtectionDomain DOMAIN = CONTEXT.allocateProtectionDomain();

  /** The operations of the queue pair. */
  public static final Transfers TRANSFERS;

  private static final Duration LONG = Duration.ofHours(1);

  static {
    CompletionQueue queue =
        CONTEXT.completionQueue(16).channel(CONTEXT.createCompletionChannel()).create();
    QueuePair queuePair =
        QueuePair.builder(DOMAIN, QueuePairType.RC)
            .completions(queue)
            .capacity(QueuePairCapacity.of(2))
            .create();
    queuePair.connect(queuePair.localAddress());
    queuePair.modify(QueuePairAttributes.builder().state(QueuePairState.ERR).build());
    CompletionWaiter waiter = new CompletionWaiter(queue, LONG);
    TRANSFERS = new Transfers(queuePair, null, waiter, waiter);
  }

  private FlushedTransfers() {}
}
