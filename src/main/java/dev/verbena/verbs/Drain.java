package dev.verbena.verbs;

import dev.verbena.RdmaTimeoutException;
import dev.verbena.internal.time.Time;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.QueuePairType;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.ObjIntConsumer;

/**
 * Polls the completion queues of a queue pair in state ERR until all its work has completed, as the
 * kernel's {@code ib_drain_qp} does: requests of a queue complete in the order in which they were
 * posted, so a last request completes after all others.
 */
final class Drain {
  private static final int BATCH = 16;
  private static final long PAUSE_NANOS = 20_000;

  private final QueuePair queuePair;
  private final ObjIntConsumer<Completions> completed;
  private final List<CompletionQueue> queues;
  private final Completions completions = new Completions(BATCH);

  /** The identifier of the last requests, which no request of the program has. */
  private final long id = Time.random(ThreadLocalRandom.current()).nextLong();

  private int outstanding;

  Drain(QueuePair queuePair, ObjIntConsumer<Completions> completed) {
    this.queuePair = queuePair;
    this.completed = completed;
    this.queues = queuePair.core.parents(CompletionQueue.class);
    if (queuePair.type() != QueuePairType.RC && queuePair.type() != QueuePairType.UC) {
      throw new IllegalStateException(
          queuePair
              + " is of type "
              + queuePair.type()
              + ": only RC and UC queue pairs can be drained, which send to one peer");
    }
    if (queues.isEmpty()) {
      throw new IllegalStateException(
          queuePair + " was created by other code: its completion queues are not known");
    }
  }

  void run(Duration limit) {
    QueuePairState state = queuePair.state();
    if (state == QueuePairState.RESET || state == QueuePairState.INIT) {
      throw new IllegalStateException(
          queuePair + " is in state " + state + ": it has not been connected, reset() it");
    }
    long start = Time.now();
    queuePair.fail();
    SendList send = new SendList(1, 1);
    send.send(0).id(id).signaled();
    pollUntil(() -> queuePair.post(send) == 1, limit, start);
    outstanding++;
    if (queuePair.core.parents(SharedReceiveQueue.class).isEmpty()) {
      ReceiveList receive = new ReceiveList(1, 1);
      receive.id(0, id);
      pollUntil(() -> queuePair.post(receive) == 1, limit, start);
      outstanding++;
      // Soft-RoCE's library does not notify the kernel of receive requests: the transition does.
      queuePair.fail();
    }
    pollUntil(() -> outstanding == 0, limit, start);
  }

  private void pollUntil(BooleanSupplier done, Duration limit, long start) {
    while (!done.getAsBoolean()) {
      int polled = 0;
      for (CompletionQueue queue : queues) {
        polled += poll(queue);
      }
      if (polled == 0) {
        queuePair.core.requireOpen(); // A thread that closes it discards what is waited for.
        if (Time.now() - start > TimeUnit.NANOSECONDS.convert(limit)) {
          throw new RdmaTimeoutException("draining " + queuePair, limit);
        }
        Time.park(PAUSE_NANOS);
      }
    }
  }

  private int poll(CompletionQueue queue) {
    int count = queue.poll(completions);
    for (int i = 0; i < count; i++) {
      if (completions.id(i) == id && completions.queuePairNumber(i) == queuePair.number()) {
        outstanding--;
      } else {
        completed.accept(completions, i);
      }
    }
    return count;
  }
}
