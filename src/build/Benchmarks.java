import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.StringJoiner;
import java.util.regex.Pattern;

/**
 * Runs one row of each benchmark for a moment, so that a benchmark which no longer runs fails the
 * build. The numbers mean nothing here, and are not printed.
 */
final class Benchmarks {
  /**
   * A script of {@code benchmarks}.
   *
   * @param row what its output contains if the row ran, as a regular expression
   */
  private record Script(String row, String command) {}

  private static final String MOMENT = " -wi 0 -i 1 -r 100ms";

  /** The scripts that need nothing but a JDK. */
  private static final List<Script> PORTABLE =
      List.of(
          new Script(
              "\\| pingPong, batch 1 \\| \\d", "run Operations.pingPong -p batch=1" + MOMENT),
          new Script("\\| roundTrip \\| \\d", "run Channels.roundTrip -p transport=rdma" + MOMENT),
          new Script(
              "\\| roundTrip \\| \\d",
              "run AeronDriver.roundTrip -p transport=rdma -p length=64" + MOMENT),
          new Script(
              "\\| getArray, rdma \\| \\d",
              "run S3Objects.getArray -p transport=rdma -p warm=0" + MOMENT),
          new Script("\\| 10, Java \\| \\d", "scale connections 10"));

  /** The scripts that need a C compiler and what src/nic/run has. */
  private static final List<Script> NATIVE =
      List.of(
          ofDataPath("ring"),
          ofDataPath("mlx5"),
          ofDataPath("efa"),
          new Script(
              "\\| post, batch 1 \\| \\d",
              "compare --chart benchmarks/target/run.svg benchmarks/target/run.csv"),
          new Script("\\| 100 memory regions, mlx5_0 \\| \\d", "scale objects 100"),
          new Script("\\| without an archive \\| \\d", "start 1"));

  private static Script ofDataPath(String device) {
    return new Script(
        "\\| post, batch 1 \\| [\\d.]+ \\| [\\d.]+ \\|",
        "run DataPath.post$ -p batch=1 -p device=" + device + MOMENT);
  }

  private final String classPath;
  private final Path logs;

  private Benchmarks(String classPath, Path logs) {
    this.classPath = classPath;
    this.logs = logs;
  }

  /** Takes the class path of the tests, a folder for the output, and "native" or "portable". */
  public static void main(String[] args) throws IOException, InterruptedException {
    Path logs = Files.createDirectories(Path.of(args[1]).toAbsolutePath());
    StringJoiner path = new StringJoiner(File.pathSeparator).add(args[0]);
    for (String classes : List.of("aeron/classes", "s3/classes", "s3/test-classes")) {
      path.add(logs.resolveSibling("bridges/" + classes).toString());
    }
    Benchmarks benchmarks = new Benchmarks(path.toString(), logs);
    for (Script script : PORTABLE) {
      benchmarks.run(script);
    }
    if (args[2].equals("native")) {
      for (Script script : NATIVE) {
        benchmarks.run(script);
      }
    } else {
      System.out.println("benchmarks of C programs: compiled and run by mvn verify -Plab only");
    }
  }

  private void run(Script script) throws IOException, InterruptedException {
    Path log = logs.resolve("log");
    String[] command = script.command.split(" ");
    command[0] = Path.of("benchmarks", command[0]).toAbsolutePath().toString();
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile());
    builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
    builder.environment().put("VERBENA_BENCHMARKS", classPath);
    long start = System.nanoTime();
    int status = builder.start().waitFor();
    String output = Files.readString(log);
    if (status != 0 || !Pattern.compile(script.row).matcher(output).find()) {
      System.out.println(output);
      throw new IllegalStateException(
          "benchmarks/%s: exit status %d, or no row: %s"
              .formatted(script.command, status, script.row));
    }
    System.out.printf(
        "benchmarks/%s: runs (%.1f s)%n", script.command, (System.nanoTime() - start) / 1e9);
  }
}
