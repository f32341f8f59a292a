package dev.verbena.benchmarks;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import org.openjdk.jmh.results.RunResult;

/** Compares each Java row with its C row, as a table. */
final class Report {
  /** The benchmarks, of which each is in Java and in C, in the order of the table. */
  static final List<String> OPERATIONS =
      List.of(
          "cursor", "emptyPoll", "fourEntries", "inline", "poll", "post", "receive", "send", "wr");

  private final List<Row> rows = new ArrayList<>();

  /**
   * A pair of benchmarks.
   *
   * @param what the operation
   * @param batch how many requests or completions each round has
   * @param threads how many threads ran
   * @param java nanoseconds of one round in Java, median
   * @param c nanoseconds of one round in C, median
   * @param bytes bytes that one round in Java allocates
   */
  private record Row(String what, int batch, int threads, double java, double c, double bytes) {
    double ratio() {
      return java / c;
    }

    /** Returns the goal; 0 if there is none. */
    double goal() {
      if (!what.equals("send")) {
        return 0;
      }
      return batch == 1 ? 1.25 : batch >= 16 ? 1.15 : 0;
    }

    String verdict() {
      return goal() == 0
          ? ""
          : String.format(Locale.ROOT, "%.2f: %s", goal(), ratio() <= goal() ? "met" : "missed");
    }

    String label() {
      return Report.label(what, batch, threads);
    }
  }

  /** Returns the printed name of a row. */
  static String label(String operation, int batch, int threads) {
    return words(operation)
        + ", batch "
        + batch
        + (threads == 1 ? "" : ", " + threads + " threads");
  }

  boolean isEmpty() {
    return rows.isEmpty();
  }

  Report(Collection<RunResult> one, Collection<RunResult> two) {
    add(one, 1);
    add(two, 2);
  }

  private void add(Collection<RunResult> results, int threads) {
    for (RunResult java : results) {
      String name = name(java);
      if (name.endsWith("Java")) {
        String what = name.substring(0, name.length() - "Java".length());
        results.stream()
            .filter(c -> name(c).equals(what + "C") && batch(c).equals(batch(java)))
            .findFirst()
            .ifPresent(
                c ->
                    rows.add(
                        new Row(
                            what,
                            Integer.parseInt(batch(java)),
                            threads,
                            median(java),
                            median(c),
                            bytes(java))));
      }
    }
  }

  private static String name(RunResult result) {
    String all = result.getParams().getBenchmark();
    return all.substring(all.lastIndexOf('.') + 1);
  }

  private static String batch(RunResult result) {
    return result.getParams().getParam("batch");
  }

  /** Returns the operation and the batch size of a benchmark in Java. */
  static String label(RunResult java) {
    return label(name(java).replaceFirst("Java$", ""), Integer.parseInt(batch(java)), 1);
  }

  static double median(RunResult result) {
    return result.getPrimaryResult().getStatistics().getPercentile(50) / DataPath.ROUNDS;
  }

  static double bytes(RunResult result) {
    var allocated = result.getSecondaryResults().get("gc.alloc.rate.norm");
    return allocated == null ? Double.NaN : allocated.getScore() / DataPath.ROUNDS;
  }

  private static String words(String name) {
    return switch (name) {
      case "send" -> "post and poll";
      case "fourEntries" -> "post and poll, four entries";
      case "inline" -> "post and poll, inline";
      case "post" -> "post";
      case "receive" -> "receive, repost and poll";
      case "poll" -> "poll, three fields read";
      case "emptyPoll" -> "empty poll";
      case "wr" -> "ibv_wr_* and poll";
      case "cursor" -> "extended queue, three fields read";
      default -> name;
    };
  }

  static String machine() {
    return System.getProperty("java.vm.name")
        + " "
        + System.getProperty("java.vm.version")
        + ", "
        + cpu()
        + ", "
        + Runtime.getRuntime().availableProcessors()
        + " cores";
  }

  private static String cpu() {
    try (var lines = Files.lines(Path.of("/proc/cpuinfo"))) {
      return lines
          .filter(line -> line.startsWith("model name"))
          .map(line -> line.substring(line.indexOf(':') + 1).strip())
          .findFirst()
          .orElse(System.getProperty("os.arch"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  String markdown() {
    StringBuilder text =
        new StringBuilder("# The data path in Java beside C\n\n")
            .append("Written by `benchmarks/run`. ")
            .append(machine())
            .append(".\n\n")
            .append(
                """
                Nanoseconds of one round (patch, post and poll a batch), median. Java and C drive the
                same queues of the same device, which `src/main/c/ring.c` emulates, in one run.

                | round | Java | C | Java : C | goal | bytes allocated |
                |---|---:|---:|---:|---|---:|
                """);
    for (Row row : rows) {
      text.append(
          String.format(
              Locale.ROOT,
              "| %s | %.1f | %.1f | %.2f | %s | %.0f |%n",
              row.label(),
              row.java,
              row.c,
              row.ratio(),
              row.verdict(),
              row.bytes));
    }
    return text.toString();
  }
}
