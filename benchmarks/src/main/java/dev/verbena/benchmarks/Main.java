package dev.verbena.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;

/**
 * Runs the pairs of {@link DataPath} and writes their {@link Report}.
 *
 * <p>Arguments: {@code --quick} for a short run, which is not written to {@code results}; a pattern
 * selects benchmarks by name.
 */
public final class Main {
  private Main() {}

  public static void main(String[] arguments) throws RunnerException, IOException {
    boolean quick = arguments.length > 0 && arguments[0].equals("--quick");
    String pattern = arguments.length > (quick ? 1 : 0) ? arguments[arguments.length - 1] : ".*";
    ChainedOptionsBuilder[] both = {options(pattern, quick), options(pattern, quick)};
    if (quick) {
      both[0].param("batch", "1", "16");
    }
    Collection<RunResult> one = new Runner(both[0].threads(1).build()).run();
    Collection<RunResult> two =
        new Runner(both[1].threads(2).param("batch", "1", "16").forks(1).build()).run();
    Report report = new Report(one, two);
    System.out.println(report.markdown());
    if (!quick) {
      Path results = Files.createDirectories(Path.of("results"));
      Files.writeString(results.resolve("data-path.md"), report.markdown());
      Files.writeString(results.resolve("data-path.svg"), report.svg());
    }
  }

  private static ChainedOptionsBuilder options(String pattern, boolean quick) {
    return new OptionsBuilder()
        .include("DataPath\\.(" + pattern + ")")
        .addProfiler(GCProfiler.class)
        .shouldFailOnError(true)
        .jvmArgs(jvmArguments())
        .forks(quick ? 1 : 2)
        .warmupIterations(quick ? 2 : 3)
        .warmupTime(TimeValue.milliseconds(400))
        .measurementIterations(quick ? 2 : 4)
        .measurementTime(TimeValue.milliseconds(300));
  }

  /** Returns the arguments of a JVM that uses the ring as libibverbs. */
  static String[] jvmArguments() {
    Path ring = Path.of("target", "libring.so").toAbsolutePath();
    return new String[] {
      "--enable-native-access=ALL-UNNAMED",
      "-Ddev.verbena.libibverbs=" + ring,
      // The ring works in user space, as do the providers with critical linking by default.
      "-Ddev.verbena.linking=critical"
    };
  }
}
