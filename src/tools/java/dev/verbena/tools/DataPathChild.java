package dev.verbena.tools;

import dev.verbena.RdmaException;
import dev.verbena.tools.command.DeviceOptions;
import dev.verbena.tools.output.Json;
import dev.verbena.tools.output.JsonText;
import dev.verbena.tools.qualify.ChildTrials;
import dev.verbena.tools.qualify.Crash;
import dev.verbena.tools.qualify.DataPath;
import dev.verbena.tools.qualify.Report;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The data path of a device of this host, in a child process, which a crash in C ends: in Java and
 * in C, the direct data path compared with the provider library, and its times.
 */
final class DataPathChild {
  private static final String ROW = "row\t";
  private static final String NOT_RUN = "not run\t";
  private static final String FAILED = "failed\t";
  private static final int COLUMNS = 3;
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private DataPathChild() {}

  /** Takes the name of a device, its port, the GID index or -1, and the number of samples. */
  public static void main(String[] args) throws Exception {
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    try {
      measure(out, args);
    } catch (Throwable e) {
      out.println(FAILED + e.toString().replace('\n', ' '));
      throw e;
    }
    // The provider may have left a thread in C behind.
    Runtime.getRuntime().halt(0);
  }

  private static void measure(PrintStream out, String[] args) throws Exception {
    Device device = Device.named(args[0]);
    int samples = Integer.parseInt(args[3]);
    DataPath path = new DataPath(device, samples);
    print(out, path.inJavaAndC(reason -> notRun(out, "data path in C", reason)));
    try (Context context = device.open()) {
      if (context.directObstacle().isPresent()) {
        notRun(out, "direct data path", context.directObstacle().get());
        return;
      }
      print(out, shadow(context, Integer.parseInt(args[1]), Integer.parseInt(args[2]), samples));
    } catch (IllegalStateException | RdmaException e) {
      notRun(out, "direct data path", "shadow mode failed: " + e.getMessage());
      return;
    }
    print(out, path.direct());
  }

  /** Compares the direct data path with the provider library; returns the times of both. */
  private static List<Map<String, Object>> shadow(
      Context context, int port, int gidIndex, int rounds) {
    ShadowExchange.Result result = ShadowExchange.run(context, port, gidIndex, rounds, 1);
    return List.of(
        shadowRow("Java", result.rounds(), result.provider(), result.provider99()),
        shadowRow("Java, direct", result.rounds(), result.direct(), result.direct99()));
  }

  private static Map<String, Object> shadowRow(String language, int rounds, long median, long p99) {
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("row", "shadow mode, five requests, equal");
    row.put("language", language);
    row.put("samples", rounds);
    row.put("p50_ns", median);
    row.put("p99_ns", p99);
    return row;
  }

  private static void print(PrintStream out, List<Map<String, Object>> rows) {
    rows.forEach(row -> out.println(ROW + Json.of(row).replace('\n', ' ')));
  }

  private static void notRun(PrintStream out, String part, String reason) {
    out.println(NOT_RUN + part + "\t" + reason.replace('\n', ' '));
  }

  /** Runs the child; puts its rows into a report, also those before a crash. */
  static void run(Device device, DeviceOptions options, int samples, Report report)
      throws IOException, InterruptedException {
    List<String> command =
        ChildTrials.command(
            DataPathChild.class,
            device.name(),
            "" + options.port(),
            "" + (options.hasGidIndex() ? options.gidIndex() : -1),
            "" + samples);
    Process child =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
    List<Object> rows = new ArrayList<>();
    String failure = "";
    Crash crash = new Crash();
    try {
      LinkedBlockingQueue<String> lines = ChildTrials.linesOf(child);
      String line = next(lines);
      for (; !line.isEmpty(); line = next(lines)) {
        crash.read(line);
        String[] columns = line.split("\t", COLUMNS);
        if (line.startsWith(ROW)) {
          rows.add(JsonText.parse(columns[1]));
          report.put("data_path", rows);
        } else if (line.startsWith(NOT_RUN) && columns.length == COLUMNS) {
          report.notRun(columns[1], columns[2]);
        } else if (line.startsWith(FAILED)) {
          failure = ": " + columns[1];
        }
      }
      int status = child.waitFor();
      if (status != 0) {
        throw new IllegalStateException(
            "the child process ended with exit status " + status + crash.text() + failure);
      }
    } finally {
      child.destroyForcibly();
    }
  }

  private static String next(LinkedBlockingQueue<String> lines) throws InterruptedException {
    @Nullable String line = lines.poll(LIMIT.toMillis(), TimeUnit.MILLISECONDS);
    if (line == null) {
      throw new IllegalStateException(
          "the child process has printed nothing for " + LIMIT.toSeconds() + " s");
    }
    return line;
  }
}
