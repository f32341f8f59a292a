package dev.verbena.fuzz;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Runs the fuzzer in a JVM of its own and reports how that ended. As a program:
 *
 * <pre>java -cp ... dev.verbena.fuzz.Fuzz soft|nic|real --minutes 30 [--seed N] [--threads 1]</pre>
 *
 * System properties of the library, such as {@code -Ddev.verbena.direct=auto}, are passed on.
 */
public final class Fuzz {
  private static final int LAST_CALLS = 60;
  private static final int DUMP_SECONDS = 10;

  /** How a run ended, and what it printed. */
  record Result(boolean isClean, String output) {}

  private Fuzz() {}

  /** Runs, prints what happened, and exits with 1 if anything was found. */
  public static void main(String[] args) throws IOException, InterruptedException {
    Result result = run(RunOptions.parse(List.of(args)));
    System.out.println(result.output());
    System.exit(result.isClean() ? 0 : 1);
  }

  static Result run(RunOptions options) throws IOException, InterruptedException {
    Path folder = Files.createTempDirectory("verbena-fuzz");
    try {
      return run(options, folder);
    } finally {
      try (Stream<Path> files = Files.list(folder)) {
        for (Path file : files.toList()) {
          Files.delete(file);
        }
      }
      Files.delete(folder);
    }
  }

  private static Result run(RunOptions options, Path folder)
      throws IOException, InterruptedException {
    Path journal = folder.resolve("journal");
    Path output = folder.resolve("output");
    Process process =
        new ProcessBuilder(command(options, journal, folder.resolve("hs_err")))
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    String stopped = watch(process, options, journal);
    int exit = process.waitFor();
    StringBuilder report = new StringBuilder();
    report.append("fuzzer: ").append(String.join(" ", options.toArguments())).append('\n');
    if (exit == 0) {
      return new Result(true, report.append(Files.readString(output)).toString());
    }
    report.append(
        switch (exit) {
          case FuzzedJvm.FOUND -> "";
          case FuzzedJvm.HUNG -> "a call does not end\n";
          default -> stopped.isEmpty() ? "the JVM crashed: exit status " + exit + "\n" : stopped;
        });
    report.append(Files.readString(output));
    if (exit != FuzzedJvm.FOUND) {
      report.append("the last calls:\n");
      List<String> calls = Journal.read(journal);
      calls.stream()
          .skip(Math.max(0, calls.size() - LAST_CALLS))
          .forEach(call -> report.append(call).append('\n'));
      calls.stream()
          .filter(call -> call.contains(" inside "))
          .forEach(call -> report.append("not ended: ").append(call).append('\n'));
      Path crash = folder.resolve("hs_err");
      if (Files.exists(crash)) {
        report.append(Files.readString(crash));
      }
    }
    return new Result(false, report.toString());
  }

  /** Waits for the end of a JVM as long as it makes progress, and ends it then. */
  private static String watch(Process process, RunOptions options, Path journal)
      throws InterruptedException {
    long seen = -1;
    long idle = 0;
    // The JVM itself finds calls that do not end, unless it stands still as a whole.
    while (idle < 2 * options.patience().toSeconds() + 60) {
      if (process.waitFor(1, TimeUnit.SECONDS)) {
        return "";
      }
      long count = Journal.count(journal);
      idle = count == seen ? idle + 1 : 0;
      seen = count;
    }
    try {
      // A JVM prints its threads at this signal, if it can.
      new ProcessBuilder("kill", "-QUIT", "" + process.pid()).start().waitFor();
      process.waitFor(DUMP_SECONDS, TimeUnit.SECONDS);
    } catch (IOException e) {
      // Not on this system.
    }
    process.destroyForcibly();
    return "the JVM stands still\n";
  }

  private static List<String> command(RunOptions options, Path journal, Path crash) {
    List<String> command = new ArrayList<>(loader());
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("--enable-native-access=ALL-UNNAMED");
    command.add("-Xmx512m");
    command.add("-XX:MaxDirectMemorySize=512m");
    command.add("-XX:ErrorFile=" + crash);
    command.add("-XX:-OmitStackTraceInFastThrow");
    command.add("-XX:-CreateCoredumpOnCrash");
    // A virtual thread that is in C keeps its carrier from the others.
    command.add("-Djdk.virtualThreadScheduler.parallelism=" + 2 * options.threads());
    if (options.devices() == FuzzedDevices.REAL) {
      command.add("-XX:TieredStopAtLevel=1"); // As all JVMs of the lab: code changes less often.
    }
    System.getProperties().stringPropertyNames().stream()
        .filter(name -> name.startsWith("dev.verbena."))
        .forEach(name -> command.add("-D" + name + "=" + System.getProperty(name)));
    command.add("-cp");
    command.add(classPath());
    command.add(FuzzedJvm.class.getName());
    command.add(journal.toString());
    command.addAll(options.toArguments());
    return command;
  }

  /**
   * The emulated EFA, and the C library that it needs: only this JVM has them, not its programs.
   */
  private static List<String> loader() {
    if (!"efa".equals(System.getenv("VERBENA_NIC_TYPE"))) {
      return List.of();
    }
    String libraries = System.getenv("VERBENA_NIC_LIBRARIES");
    return List.of(
        Path.of(libraries, "ld-linux-x86-64.so.2").toString(),
        "--library-path",
        libraries,
        "--preload",
        System.getenv("VERBENA_NIC"));
  }

  /** Of the library, of the tests, and of what the latter refer to. */
  private static String classPath() {
    String path = System.getProperty("java.class.path");
    String modules = System.getProperty("jdk.module.path", "");
    return modules.isEmpty() ? path : modules + java.io.File.pathSeparator + path;
  }
}
