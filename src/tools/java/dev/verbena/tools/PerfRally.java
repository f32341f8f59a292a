package dev.verbena.tools;

import dev.verbena.tools.output.Units;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.io.IOException;
import java.util.function.ObjIntConsumer;
import org.HdrHistogram.Histogram;

/**
 * Single operations of an end, of all sizes of its task. The time of an operation is what
 * perftest's programs report: half of a round trip for send, and for write if both ends poll their
 * memory; until the completion for the others.
 */
final class PerfRally {
  private final PerfEnd end;
  private final PerfTask task;
  private int completed;

  PerfRally(PerfEnd end) {
    this.end = end;
    task = end.task();
  }

  /**
   * Answers. The client leaves when it has all completions. Then the last answer has arrived, and
   * its completion is not awaited: the end of the connection may flush it.
   */
  void serve() throws IOException, InterruptedException {
    if (task.isAnswered()) {
      if (!task.plan().polled()) {
        end.link().take(1);
      }
      long left = (long) task.total() * task.sizes().size();
      for (int size : task.sizes()) {
        Answer answer = task.plan().polled() ? answerWrites(size) : answerSends(size);
        for (int i = 0; i < task.total(); i++) {
          left--;
          answer.send(left == 0);
          completed++;
          end.completed(completed);
        }
      }
    }
    end.awaitLeave();
  }

  /** Answers an operation, and takes the completions before the next answer. */
  private interface Answer {
    void send(boolean isLast) throws InterruptedException;
  }

  private Answer answerWrites(int size) {
    PolledWrites writes = new PolledWrites(end, size);
    return isLast -> {
      writes.await(completed);
      writes.post(completed);
      end.link().take(isLast ? 0 : 1);
    };
  }

  private Answer answerSends(int size) {
    ReceiveList receive = end.receives(1, 0);
    SendList answer = end.requests(1, size, 0);
    return isLast -> {
      end.link().post(receive);
      end.link().post(answer);
      end.link().take(isLast ? 0 : 2);
    };
  }

  /**
   * Measures.
   *
   * @param pace when operations begin
   * @param measured is given the times in nanoseconds of each size, when it has ended: also those
   *     before a failure or an interrupt
   */
  void measure(Pace pace, Progress progress, ObjIntConsumer<Histogram> measured)
      throws IOException, InterruptedException {
    for (int size : task.sizes()) {
      Histogram times = new Histogram(3);
      try {
        measure(size, pace, progress, times);
      } finally {
        if (times.getTotalCount() > 0) {
          measured.accept(times, size);
        }
      }
    }
    end.leave();
  }

  /** Whether the time is that of half a round trip: at a fixed rate it contains a delay, too. */
  static boolean isHalved(PerfTask task, Pace pace) {
    return task.isAnswered() && !pace.isFixed();
  }

  private void measure(int size, Pace pace, Progress progress, Histogram times)
      throws InterruptedException {
    progress.begin(Units.bytes(size), task.warmUp(), task.iterations());
    Timed operation = task.plan().polled() ? writes(size) : requests(size);
    int parts = isHalved(task, pace) ? 2 : 1;
    for (int i = 0; i < task.total(); i++) {
      if (i == task.warmUp()) {
        pace.begin();
      }
      long start = i < task.warmUp() ? 0 : pace.next();
      long nanos = operation.run() - start;
      if (i >= task.warmUp()) {
        times.recordValue(nanos / parts);
      }
      completed++;
      end.completed(completed);
      progress.at(i + 1);
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
    }
  }

  /** Performs an operation, and returns the time at which it ended. */
  private interface Timed {
    long run() throws InterruptedException;
  }

  private Timed writes(int size) {
    PolledWrites writes = new PolledWrites(end, size);
    return () -> {
      writes.post(completed);
      writes.await(completed);
      long now = System.nanoTime();
      end.link().take(1);
      return now;
    };
  }

  private Timed requests(int size) {
    SendList request = end.requests(1, size, 0);
    ReceiveList receive = end.receives(1, 0);
    return () -> {
      end.link().post(request);
      end.link().take(task.isAnswered() ? 2 : 1);
      long now = System.nanoTime();
      if (task.isAnswered()) {
        end.link().post(receive);
      }
      return now;
    };
  }
}
