package dev.verbena.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;

/**
 * Measures what the events of JDK Flight Recorder cost on the data path: in JVMs without the
 * recorder, with it but without a recording, and with a recording. The JVMs take turns.
 */
public final class FlightRecorder {
  private static final int TURNS = 5;

  /** The modules that JMH needs: the recorder is not among them. */
  private static final String WITHOUT_RECORDER =
      "--limit-modules=java.base,java.logging,java.management,jdk.management,jdk.unsupported";

  private static final String RECORDING =
      "-XX:StartFlightRecording:settings=none,dev.verbena.FailedCompletion#enabled=true,"
          + "filename=target/data-path.jfr";

  /** How a JVM is started: the heading of its column, and its options. */
  private record Mode(String title, List<String> options) {}

  private static final List<Mode> MODES =
      List.of(
          new Mode("no `jdk.jfr`", List.of(WITHOUT_RECORDER)),
          new Mode("no recording", List.of()),
          new Mode("recording", List.of(RECORDING, "-Xlog:jfr*=off")));

  private final boolean once;

  private FlightRecorder(boolean once) {
    this.once = once;
  }

  /** Measures, and writes {@code results/flight-recorder.md}; with {@code --once} only a row. */
  public static void main(String[] arguments) throws RunnerException, IOException {
    new FlightRecorder(List.of(arguments).contains("--once")).measure();
  }

  private void measure() throws RunnerException, IOException {
    int turns = once ? 1 : TURNS;
    Map<String, double[][]> nanos = new TreeMap<>();
    Map<String, Double> bytes = new TreeMap<>();
    for (int turn = 0; turn < turns; turn++) {
      for (int mode = 0; mode < MODES.size(); mode++) {
        for (RunResult result : run(MODES.get(mode))) {
          String row = Report.label(result);
          nanos.computeIfAbsent(row, _ -> new double[MODES.size()][turns])[mode][turn] =
              Report.median(result);
          bytes.merge(row, Report.bytes(result), Math::max);
        }
      }
    }
    StringBuilder text = new StringBuilder();
    text.append("# The data path and JDK Flight Recorder\n\n")
        .append("Written by `benchmarks/flight-recorder`. ")
        .append(Report.machine())
        .append(".\n\nNanoseconds of one round: the median within each of ")
        .append(turns)
        .append(
            " JVMs, of these the smallest and the largest. The JVMs of the columns take turns, so"
                + " that other\n")
        .append(
            "programs disturb all of them alike; the smallest is disturbed least.\n\n| round |");
    for (Mode mode : MODES) {
      text.append(' ').append(mode.title).append(" |");
    }
    text.append(" bytes allocated, at most |\n|---|---:|---:|---:|---:|\n");
    nanos.forEach(
        (row, modes) -> {
          text.append("| ").append(row);
          for (double[] sorted : modes) {
            Arrays.sort(sorted);
            text.append(
                String.format(
                    Locale.ROOT, " | %.1f (to %.1f)", sorted[0], sorted[sorted.length - 1]));
          }
          text.append(String.format(Locale.ROOT, " | %.0f |%n", bytes.get(row)));
        });
    System.out.print(text);
    if (!once) {
      Files.writeString(Path.of("results", "flight-recorder.md"), text);
    }
  }

  private Iterable<RunResult> run(Mode mode) throws RunnerException {
    return new Runner(
            new OptionsBuilder()
                .include(once ? "DataPath\\.pollJava" : "DataPath\\.(send|poll)Java")
                .param("batch", once ? new String[] {"1"} : new String[] {"1", "16"})
                .addProfiler(GCProfiler.class)
                .shouldFailOnError(true)
                .jvmArgs(Main.jvmArguments())
                .jvmArgsAppend(mode.options.toArray(String[]::new))
                .forks(1)
                .warmupIterations(once ? 0 : 3)
                .warmupTime(TimeValue.milliseconds(400))
                .measurementIterations(once ? 1 : 4)
                .measurementTime(TimeValue.milliseconds(300))
                .build())
        .run();
  }
}
