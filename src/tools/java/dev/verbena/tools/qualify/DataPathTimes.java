package dev.verbena.tools.qualify;

import dev.verbena.tools.qualify.Bench.Pair;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.Device;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Times of posts and polls on a device: RDMA writes of 8 bytes within the device, of which the last
 * of each post is signaled. Languages are measured in turns.
 */
public final class DataPathTimes {
  private static final int[] BATCHES = {1, 16};
  private static final int ROUNDS = 5;

  /** Within which the JVM compiles a loop. */
  static final long WARM_UP_NANOS = 1_500_000_000;

  private final Device device;
  private final int samples;

  /**
   * Creates the measurement.
   *
   * @param samples the number of samples of each row, after a warm-up of fixed duration
   */
  public DataPathTimes(Device device, int samples) {
    this.device = device;
    this.samples = samples;
  }

  /**
   * Measures in Java, and perhaps in C; returns a row for each operation and language.
   *
   * @param obstacle is given the reason if there is no C
   */
  public List<Map<String, Object>> measure(boolean inC, Consumer<String> obstacle)
      throws Exception {
    try (Bench bench = new Bench(device)) {
      Pair pair = bench.pair(QueuePairType.RC);
      List<Loops> languages = new ArrayList<>();
      languages.add(new Loops.InJava(bench, pair, "Java"));
      try {
        if (inC) {
          languages.add(new LoopsInC(bench, pair));
        }
      } catch (IOException e) {
        obstacle.accept(e.getMessage());
      }
      return rows(languages);
    }
  }

  /** Measures the direct data path. */
  public List<Map<String, Object>> direct() throws Exception {
    try (Bench bench = new Bench(device, true, Bench.ANY, Bench.ANY)) {
      Pair pair = bench.pair(QueuePairType.RC);
      Bench.require(pair.queuePair().isDirect(), "the queue pair is not direct");
      return rows(List.of(new Loops.InJava(bench, pair, "Java, direct")));
    }
  }

  private List<Map<String, Object>> rows(List<Loops> languages) throws Exception {
    List<Map<String, Object>> rows = new ArrayList<>();
    rows.addAll(
        inTurns(
            List.of("empty poll"),
            languages,
            (loops, times) -> {
              loops.emptyPolls(times[0]);
            }));
    for (int batch : BATCHES) {
      rows.addAll(
          inTurns(
              List.of("post, batch " + batch, "post until the completion, batch " + batch),
              languages,
              (loops, times) -> loops.posts(batch, times[0], times[1])));
    }
    return rows;
  }

  /** A loop, which fills an array for each row. */
  private interface Loop {
    void run(Loops loops, long[][] times) throws Exception;
  }

  private List<Map<String, Object>> inTurns(List<String> names, List<Loops> languages, Loop loop)
      throws Exception {
    int part = Math.ceilDiv(samples, ROUNDS);
    long[][][] all = new long[languages.size()][names.size()][ROUNDS * part];
    for (Loops loops : languages) {
      long start = System.nanoTime();
      do {
        loop.run(loops, new long[names.size()][part]); // Not counted.
      } while (System.nanoTime() - start < WARM_UP_NANOS);
    }
    for (int round = 0; round < ROUNDS; round++) {
      for (int language = 0; language < languages.size(); language++) {
        long[][] times = new long[names.size()][part];
        loop.run(languages.get(language), times);
        for (int row = 0; row < names.size(); row++) {
          System.arraycopy(times[row], 0, all[language][row], round * part, part);
        }
      }
    }
    List<Map<String, Object>> rows = new ArrayList<>();
    for (int row = 0; row < names.size(); row++) {
      for (int language = 0; language < languages.size(); language++) {
        rows.add(row(names.get(row), languages.get(language).language(), all[language][row]));
      }
    }
    return rows;
  }

  /** Returns a row of a report; sorts the nanoseconds of its samples. */
  static Map<String, Object> row(String name, String language, long[] times) {
    Arrays.sort(times);
    int n = times.length;
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("row", name);
    row.put("language", language);
    row.put("samples", n);
    row.put("p50_ns", times[n / 2]);
    row.put("p99_ns", times[n * 99 / 100]);
    return row;
  }
}
