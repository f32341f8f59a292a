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

/** Compares each Java row with its C row, as a table and as a chart. */
final class Report {
  private static final int BAR_WIDTH = 420;
  private static final int ROW_HEIGHT = 22;
  private static final int LABEL_WIDTH = 260;

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
      if (!what.equals("post and poll")) {
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
      return what + ", batch " + batch + (threads == 1 ? "" : ", " + threads + " threads");
    }
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
                            words(what),
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
    return words(name(java).replaceFirst("Java$", "")) + ", batch " + batch(java);
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

  String svg() {
    int height = (rows.size() + 2) * ROW_HEIGHT;
    double widest = rows.stream().mapToDouble(Row::ratio).max().orElse(1);
    double scale = BAR_WIDTH / Math.max(2, widest);
    StringBuilder svg = new StringBuilder();
    svg.append(
        String.format(
            Locale.ROOT,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\""
                + " font-family=\"sans-serif\" font-size=\"12\">%n"
                + "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>%n"
                + "<text x=\"8\" y=\"15\">Time of a round in Java, as a multiple of C's</text>%n",
            LABEL_WIDTH + BAR_WIDTH + 60,
            height));
    int y = ROW_HEIGHT;
    for (Row row : rows) {
      svg.append(
          String.format(
              Locale.ROOT,
              "<text x=\"8\" y=\"%d\">%s</text>%n"
                  + "<rect x=\"%d\" y=\"%d\" width=\"%.0f\" height=\"%d\" fill=\"#5b8cc0\"/>%n"
                  + "<text x=\"%.0f\" y=\"%d\">%.2f</text>%n",
              y + 15,
              row.label(),
              LABEL_WIDTH,
              y + 3,
              row.ratio() * scale,
              ROW_HEIGHT - 6,
              LABEL_WIDTH + row.ratio() * scale + 4,
              y + 15,
              row.ratio()));
      y += ROW_HEIGHT;
    }
    double one = LABEL_WIDTH + scale;
    svg.append(
        String.format(
            Locale.ROOT,
            "<line x1=\"%.0f\" y1=\"%d\" x2=\"%.0f\" y2=\"%d\" stroke=\"black\"/>%n</svg>%n",
            one,
            ROW_HEIGHT,
            one,
            y));
    return svg.toString();
  }
}
