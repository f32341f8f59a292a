package dev.verbena.tools;

import dev.verbena.tools.PerfTask.Operation;
import dev.verbena.tools.output.Units;
import java.io.IOException;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.IntConsumer;

/** Transfers of an end, of all sizes of its task, in one or both directions. */
final class PerfStream {
  private final PerfEnd end;
  private final PerfTask task;
  private final PerfTransfer transfer;
  private long completed;

  PerfStream(PerfEnd end) {
    this.end = end;
    task = end.task();
    transfer = new PerfTransfer(end);
  }

  void serve() throws IOException, InterruptedException {
    if (task.plan().bidirectional()) {
      // The client leaves when it has read the last time, perhaps before the server has read its.
      transferAll(Progress.none(), task.sizes().size() - 1, _ -> {});
    } else if (task.operation() == Operation.SEND) {
      transfer.receive(task.sizes().size());
    }
    end.awaitLeave();
  }

  /**
   * Measures.
   *
   * @param measured is given the rate of each size, when it has ended: also that until a failure or
   *     an interrupt
   */
  void measure(Progress progress, Consumer<PerfRate> measured)
      throws IOException, InterruptedException {
    transferAll(progress, task.sizes().size(), measured);
    end.leave();
  }

  /**
   * Transfers all sizes.
   *
   * @param awaited for how many sizes to wait for the end of the peer's transfer, if it has one
   */
  private void transferAll(Progress progress, int awaited, Consumer<PerfRate> measured)
      throws IOException, InterruptedException {
    List<Integer> sizes = task.sizes();
    for (int i = 0; i < sizes.size(); i++) {
      measured.accept(transfer(sizes.get(i), i, progress, i < awaited, measured));
    }
  }

  private PerfRate transfer(
      int size, int index, Progress progress, boolean awaitsPeer, Consumer<PerfRate> measured)
      throws IOException, InterruptedException {
    int queuePairs = task.plan().queuePairs();
    int warmUp = task.warmUp() * queuePairs;
    progress.begin(Units.bytes(size), warmUp, task.iterations() * queuePairs);
    send(size, task.warmUp(), progress::at);
    long start = System.nanoTime();
    Rates rates = new Rates(size, System::nanoTime);
    try {
      send(
          size,
          task.iterations(),
          done -> {
            rates.at(done);
            progress.at(warmUp + done);
          });
    } catch (InterruptedException | RuntimeException e) {
      if (rates.done() > 0
          && !task.plan().bidirectional()) { // Otherwise a sum, of which half is known.
        measured.accept(new PerfRate(size, rates));
      }
      throw e;
    }
    end.took(index, Math.max(1, System.nanoTime() - start));
    PerfRate rate = new PerfRate(size, rates);
    if (!task.plan().bidirectional()) {
      return rate;
    }
    if (task.operation() == Operation.SEND) {
      transfer.receive(index + 1);
    }
    return awaitsPeer ? rate.plus(rates.done() / (transfer.durationOfPeer(index) / 1e9)) : rate;
  }

  private void send(int size, int iterations, IntConsumer progress) throws InterruptedException {
    long before = completed;
    transfer.send(
        size,
        iterations,
        done -> {
          completed = before + done;
          end.completed(completed);
          progress.accept(done);
        });
  }
}
