package dev.verbena.programs;

import dev.verbena.tools.command.Patience;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * Ping-pong of messages: each queue pair answers a received message after its own send has
 * completed.
 */
final class PingPongRally {
  private final PingPongEnd end;
  private final int iterations;
  private final Duration patience;
  private final Completions completions = new Completions(16);

  /** The outstanding requests of each queue pair. */
  private final int[] pending;

  private int sent;
  private int received;
  private int waiting;

  /**
   * Creates a rally.
   *
   * @param patience the time within which the next completion must come
   */
  PingPongRally(PingPongEnd end, int iterations, Duration patience) {
    this.end = end;
    this.iterations = iterations;
    this.patience = patience;
    this.waiting = end.depth();
    this.pending = new int[end.number()];
  }

  /** Exchanges the requested number of messages, over all queue pairs together. */
  void play(boolean first) throws InterruptedException {
    Arrays.fill(pending, PingPongEnd.RECEIVE);
    if (first) {
      for (int i = 0; i < pending.length; i++) {
        send(i);
      }
    }
    CompletionQueue queue = end.completions();
    Optional<CompletionChannel> channel = queue.channel();
    BooleanSupplier polled = () -> queue.poll(completions) > 0;
    while (received < iterations || sent < iterations) {
      if (channel.isPresent()) {
        awaitEvent(channel.get());
      } else {
        Patience.spin(polled, patience);
        takeAll();
      }
      while (polled.getAsBoolean()) {
        takeAll();
      }
    }
  }

  private void awaitEvent(CompletionChannel channel) throws InterruptedException {
    CompletionQueue ready = channel.poll(patience);
    if (ready == null) {
      throw Patience.tooLate(patience);
    }
    ready.requestNotification();
  }

  private void takeAll() {
    for (int i = 0; i < completions.count(); i++) {
      take(i);
    }
  }

  private void take(int index) {
    if (!completions.isSuccess(index)) {
      throw new IllegalStateException(completions.describe(index));
    }
    int done = (int) completions.id(index);
    if (done == PingPongEnd.SEND) {
      sent++;
    } else {
      received++;
      waiting--;
      if (waiting <= pending.length) {
        end.postReceives(end.depth() - waiting);
        waiting = end.depth();
      }
    }
    int queuePair = end.indexOf(completions.queuePairNumber(index));
    pending[queuePair] &= ~done;
    if (sent < iterations && pending[queuePair] == 0) {
      send(queuePair);
    }
  }

  private void send(int queuePair) {
    end.send(queuePair);
    pending[queuePair] = PingPongEnd.SEND | PingPongEnd.RECEIVE;
  }
}
