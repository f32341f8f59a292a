package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** How many operations of a latency are measured. */
@Tag("host")
class TimedLatencyTest {
  private static final long TIME = 1_000_000;
  private static final PerfTask PROBE = new PerfTask(PerfTask.Operation.SEND, 64, 0, 20);

  /** The numbers of operations of the runs that a measurement has, if they take these times. */
  private static List<Integer> runs(int transfers, long... means) throws Exception {
    Deque<Long> left = new ArrayDeque<>(Arrays.stream(means).boxed().toList());
    List<Integer> runs = new ArrayList<>();
    Histogram[] last = new Histogram[1];
    Histogram result =
        new TimedLatency(TIME, transfers)
            .measure(
                PROBE,
                task -> {
                  runs.add(task.iterations());
                  last[0] = new Histogram(5);
                  last[0].recordValue(left.remove());
                  return last[0];
                });
    assertEquals(0, left.size());
    assertSame(last[0], result);
    return runs;
  }

  @Test
  void aMeasurementIsRepeatedWhileItsCodeIsCompiled() throws Exception {
    assertEquals(
        List.of(20, 20, 100, 1000), runs(1, TIME / 10, TIME / 100, TIME / 1000, TIME / 1500));
  }

  @Test
  void whatIsCompiledIsMeasuredOnce() throws Exception {
    assertEquals(List.of(20, 500), runs(2, TIME / 1000, TIME / 1100));
  }

  @Test
  void theNumberHasBounds() throws Exception {
    assertEquals(List.of(20, 20_000), runs(1, 1, 1));
    assertEquals(List.of(20, 20), runs(1, TIME / 10, TIME / 10));
  }
}
