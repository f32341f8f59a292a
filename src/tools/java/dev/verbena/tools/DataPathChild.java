package dev.verbena.tools;

import dev.verbena.RdmaException;
import dev.verbena.tools.command.DeviceOptions;
import dev.verbena.tools.output.Json;
import dev.verbena.tools.qualify.ChildJvm;
import dev.verbena.tools.qualify.DataPathTimes;
import dev.verbena.tools.qualify.Report;
import dev.verbena.tools.qualify.ShadowExchange;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
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
    DataPathTimes path = new DataPathTimes(device, samples);
    print(out, path.measure(true, reason -> notRun(out, "data path in C", reason)));
    try (Context context = device.open()) {
      if (context.directObstacle().isPresent()) {
        notRun(out, "direct data path", context.directObstacle().get());
        return;
      }
      int port = Integer.parseInt(args[1]);
      print(out, ShadowExchange.run(device, port, Integer.parseInt(args[2]), samples, 1));
    } catch (IllegalStateException | RdmaException e) {
      throw new IllegalStateException("shadow mode failed: " + e.getMessage(), e);
    }
    print(out, path.direct());
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
        ChildJvm.command(
            DataPathChild.class,
            device.name(),
            "" + options.port(),
            "" + options.gidIndex(),
            "" + samples);
    List<Object> rows = new ArrayList<>();
    String failure = "";
    try (ChildJvm child = new ChildJvm(command, LIMIT)) {
      for (String line = next(child); !line.isEmpty(); line = next(child)) {
        String[] columns = line.split("\t", COLUMNS);
        if (line.startsWith(ROW)) {
          rows.add(Json.parse(columns[1]));
          report.put("data_path", rows);
        } else if (line.startsWith(NOT_RUN) && columns.length == COLUMNS) {
          report.notRun(columns[1], columns[2]);
        } else if (line.startsWith(FAILED)) {
          failure = ": " + columns[1];
        }
      }
      String end = child.end();
      if (!end.equals(ChildJvm.SUCCESS)) {
        throw new IllegalStateException("the child process ended with " + end + failure);
      }
    }
  }

  private static String next(ChildJvm child) throws InterruptedException {
    @Nullable String line = child.next();
    if (line == null) {
      throw new IllegalStateException(
          "the child process has printed nothing for " + LIMIT.toSeconds() + " s");
    }
    return line;
  }
}
