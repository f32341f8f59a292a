package dev.verbena.tools.qualify;

import dev.verbena.tools.qualify.Bench.Pair;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.QueuePairType;
import dev.verbena.verbs.SendList;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * Times of posts and polls on a device, in Java: RDMA writes of 8 bytes within the device, of which
 * the last of each post is signaled.
 */
public final class DataPath {
  private static final int BATCH = 16;
  private static final int POLLS = 64;

  private final int samples;

  /**
   * Creates the measurement.
   *
   * @param samples the number of samples of each row; as many before are not counted
   */
  public DataPath(int samples) {
    this.samples = samples;
  }

  /** Measures; returns a row for each operation, with the median and the 99th percentile. */
  public List<Map<String, Object>> run(Device device) throws Exception {
    try (Bench bench = new Bench(device)) {
      Pair pair = bench.pair(QueuePairType.RC);
      List<Map<String, Object>> rows = new ArrayList<>();
      Completions none = new Completions(BATCH);
      rows.add(
          row(
              "empty poll",
              () -> {
                long start = System.nanoTime();
                for (int i = 0; i < POLLS; i++) {
                  var _ = bench.completions.poll(none);
                }
                return (System.nanoTime() - start) / POLLS;
              }));
      for (int batch : new int[] {1, BATCH}) {
        SendList list = writes(bench, batch);
        long[] times = new long[2 * samples];
        long[] rounds = new long[2 * samples];
        for (int i = 0; i < times.length; i++) {
          long start = System.nanoTime();
          bench.post(pair.queuePair(), list);
          long posted = System.nanoTime();
          var _ = bench.success(bench.completions);
          times[i] = posted - start;
          rounds[i] = System.nanoTime() - start;
        }
        rows.add(row("post, batch " + batch, times));
        rows.add(row("post until the completion, batch " + batch, rounds));
      }
      return rows;
    }
  }

  private static SendList writes(Bench bench, int batch) {
    SendList list = new SendList(batch, 1);
    for (int i = 0; i < batch; i++) {
      list.write(i)
          .local(bench.memory, 0, Long.BYTES)
          .remote(bench.memory.start() + Bench.HALF, bench.memory.rkey());
    }
    list.signaled(batch - 1);
    return list;
  }

  private Map<String, Object> row(String name, LongSupplier sample) {
    long[] times = new long[2 * samples];
    for (int i = 0; i < times.length; i++) {
      times[i] = sample.getAsLong();
    }
    return row(name, times);
  }

  private static Map<String, Object> row(String name, long[] times) {
    long[] counted = Arrays.copyOfRange(times, times.length / 2, times.length);
    Arrays.sort(counted);
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("row", name);
    row.put("language", "Java");
    row.put("samples", counted.length);
    row.put("p50_ns", counted[counted.length / 2]);
    row.put("p99_ns", counted[counted.length * 99 / 100]);
    return row;
  }
}
