package dev.verbena.tools;

import dev.verbena.tools.PerfTask.Operation;
import dev.verbena.tools.command.Link;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.io.IOException;
import java.util.List;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;

/**
 * Many outstanding operations on the queue pairs of an end: posts a batch of requests whenever one
 * has completed, and receive requests for those that the peer's messages have consumed.
 */
final class PerfTransfer {
  /** The identifier of the completion of a read of the peer's state. */
  private static final int READ = -1;

  private final PerfEnd end;
  private final int queuePairs;
  private final int batch;

  /** The number of outstanding batches of a queue pair. */
  private final int window;

  private final int[] outstanding;
  private final int[] consumed;
  private final List<ReceiveList> receives;
  private long sent;
  private long received;
  private boolean hasRead;

  PerfTransfer(PerfEnd end) {
    this.end = end;
    queuePairs = end.task().plan().queuePairs();
    batch = end.task().plan().batch();
    window = end.task().plan().depth() / batch;
    outstanding = new int[queuePairs];
    consumed = new int[queuePairs];
    receives =
        end.task().operation() == Operation.SEND
            ? IntStream.range(0, queuePairs).mapToObj(i -> end.receives(Link.BATCH, i)).toList()
            : List.of();
  }

  /** Posts requests on each queue pair, of which all have completed when this method returns. */
  void send(int size, int iterations, IntConsumer completed) throws InterruptedException {
    List<SendList> batches =
        IntStream.range(0, queuePairs).mapToObj(i -> end.requests(batch, size, i)).toList();
    int[] posted = new int[queuePairs];
    long before = sent;
    int wanted = Math.multiplyExact(iterations, queuePairs);
    while (sent - before < wanted) {
      for (int i = 0; i < queuePairs; i++) {
        while (posted[i] < iterations && outstanding[i] < window) {
          end.link().post(batches.get(i), i);
          posted[i] += batch;
          outstanding[i]++;
        }
      }
      poll(Link.BATCH);
      completed.accept((int) (sent - before));
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
    }
  }

  /**
   * Waits until as many messages have been received as the peer sends in so many measurements, and
   * takes no more completions: a peer whose last message has arrived may end the connection, which
   * flushes the receive requests.
   */
  void receive(int sizes) throws InterruptedException {
    long wanted = (long) sizes * queuePairs * end.task().total();
    while (received < wanted) {
      poll((int) Math.min(Link.BATCH, wanted - received));
      end.completed(received);
    }
  }

  /** Waits until the peer has ended the transfer of the size with this index; returns its time. */
  long durationOfPeer(int index) throws IOException, InterruptedException {
    SendList read = end.readOfDuration(index, READ);
    long start = System.nanoTime();
    do {
      hasRead = false;
      end.link().post(read);
      while (!hasRead) {
        poll(Link.BATCH);
      }
      if (System.nanoTime() - start > end.task().patience(end.timeout()).toNanos()) {
        throw new IllegalStateException(
            "the peer has not ended its transfer within "
                + end.task().patience(end.timeout()).toSeconds()
                + " s after this end");
      }
    } while (end.durationOfPeer() == 0);
    return end.durationOfPeer();
  }

  private void poll(int limit) throws InterruptedException {
    int count = end.link().awaitAny(limit);
    Completions completions = end.link().completions();
    for (int i = 0; i < count; i++) {
      int id = (int) completions.id(i);
      if (completions.isReceive(i)) {
        consume(id);
      } else if (id == READ) {
        hasRead = true;
      } else {
        outstanding[id]--;
        sent += batch;
      }
    }
  }

  private void consume(int connection) {
    received++;
    consumed[connection]++;
    if (consumed[connection] == Link.BATCH) {
      consumed[connection] = 0;
      end.link().post(receives.get(connection), connection);
    }
  }
}
