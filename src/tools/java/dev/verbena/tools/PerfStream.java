package dev.verbena.tools;

import dev.verbena.tools.PerfTask.Operation;
import dev.verbena.tools.output.Units;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
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
      var _ = transferAll(_ -> {}, task.sizes().size() - 1);
    } else if (task.operation() == Operation.SEND) {
      transfer.receive(task.sizes().size());
    }
    end.awaitLeave();
  }

  /**
   * Measures.
   *
   * @param progress is told how many operations have completed
   */
  List<PerfRate> measure(IntConsumer progress) throws IOException, InterruptedException {
    List<PerfRate> rates = transferAll(progress, task.sizes().size());
    end.leave();
    return rates;
  }

  /**
   * Transfers all sizes.
   *
   * @param awaited for how many sizes to wait for the end of the peer's transfer, if it has one
   */
  private List<PerfRate> transferAll(IntConsumer progress, int awaited)
      throws IOException, InterruptedException {
    List<PerfRate> rates = new ArrayList<>();
    List<Integer> sizes = task.sizes();
    for (int i = 0; i < sizes.size(); i++) {
      rates.add(transfer(sizes.get(i), i, progress, i < awaited));
    }
    return rates;
  }

  private PerfRate transfer(int size, int index, IntConsumer progress, boolean awaitsPeer)
      throws IOException, InterruptedException {
    send(size, task.warmUp(), progress);
    long start = System.nanoTime();
    Rates rates = new Rates(size, System::nanoTime);
    send(
        size,
        task.iterations(),
        done -> {
          rates.at(done);
          progress.accept(done);
        });
    end.took(index, Math.max(1, System.nanoTime() - start));
    String title = task.operation() + ", " + Units.bytes(size);
    int count = task.iterations() * task.plan().queuePairs();
    double perSecond = rates.perSecond();
    if (task.plan().bidirectional()) {
      if (task.operation() == Operation.SEND) {
        transfer.receive(index + 1);
      }
      if (awaitsPeer) {
        perSecond += count / (transfer.durationOfPeer(index) / 1e9);
      }
    }
    return new PerfRate(size, count, perSecond, rates.chart(title));
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
