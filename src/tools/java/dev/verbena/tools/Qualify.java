package dev.verbena.tools;

import dev.verbena.RdmaException;
import dev.verbena.tools.command.BothEnds;
import dev.verbena.tools.command.Cli;
import dev.verbena.tools.command.DeviceOptions;
import dev.verbena.tools.command.Failure;
import dev.verbena.tools.command.UdpDevice;
import dev.verbena.tools.qualify.Conformance;
import dev.verbena.tools.qualify.DataPathTimes;
import dev.verbena.tools.qualify.Redaction;
import dev.verbena.tools.qualify.Report;
import dev.verbena.tools.qualify.Validator;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.Verbena;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Examines a device, and writes a report. */
@Command(
    name = "qualify",
    header = "Examine a device: what works, latency and bandwidth; write a report.",
    description = {
      "Ten minutes at most, two with --quick. Sends nothing to anyone but the peer. The report is"
          + " written after each step: Ctrl-C leaves what is known.",
      "With a peer: run verbena qualify --serve there first, on a port that is open to this host."
    },
    footerHeading = Cli.EXAMPLES,
    footer = {
      "  verbena qualify --both-ends --quick",
      "  verbena qualify -d mlx5_0 --serve                     # peer",
      "  verbena qualify -d mlx5_0 --peer HOST",
      "  verbena qualify --verify report.json"
    })
final class Qualify implements Callable<Integer> {
  private static final int SAMPLES = 5000;
  private static final int QUICK_SAMPLES = 500;

  /** The time of a step that is not measured with a peer. */
  private static final Duration STEP = Duration.ofSeconds(60);

  private static final Duration CONFORMANCE = Duration.ofMinutes(5);
  private static final Duration DATA_PATH = Duration.ofSeconds(100);
  private static final Duration PEER = Duration.ofSeconds(400);
  private static final Duration QUICK_PEER = Duration.ofSeconds(90);

  /** The time of a last measurement, which begins before its step must end. */
  private static final Duration MARGIN = Duration.ofSeconds(30);

  /** The time of the whole examination. */
  private static final Duration WHOLE = Duration.ofMinutes(10);

  private static final Duration QUICK_WHOLE = Duration.ofMinutes(2);

  @Spec private CommandSpec spec;

  @Mixin private DeviceOptions options;

  @Mixin private BothEnds bothEnds;

  @Option(names = "--peer", paramLabel = "HOST", description = "Measure with the server on HOST.")
  private @Nullable String peer;

  @Option(names = "--serve", description = "Serve the measurements of a peer, until it has ended.")
  private boolean serves;

  @Option(names = "--quick", description = "Fewer sizes, and shorter measurements.")
  private boolean quick;

  @Option(
      names = {"-p", "--port"},
      paramLabel = "PORT",
      description = "Port of the server; default: ${DEFAULT-VALUE}.")
  private int port = 18517;

  @Option(
      names = "--output",
      paramLabel = "FOLDER",
      description = "Folder of the report, which must not exist; default: verbena-report-TIME.")
  private @Nullable Path output;

  @Option(
      names = "--verify",
      paramLabel = "FILE",
      description = "Check a report.json, and do nothing else.")
  private @Nullable Path verified;

  private final long start = System.nanoTime();
  private boolean isStuck;

  @Override
  public Integer call() throws Exception {
    if (verified != null) {
      return verify(verified);
    }
    if (peer != null && (serves || bothEnds.wanted())) {
      throw Failure.usage(
          spec, "--serve and --peer exclude each other, and --peer and --both-ends");
    }
    if (bothEnds.wanted()) {
      return BothEnds.run(
          spec,
          BothEnds.arguments(spec, "-d", BothEnds.SERVER_DEVICE, "--serve"),
          BothEnds.arguments(spec, "-d", BothEnds.CLIENT_DEVICE, "--peer", BothEnds.TCP_HOST));
    }
    if (serves) {
      new PeerServer(port, options, PeerMeasurements.TIMEOUT)
          .run(spec.commandLine().getErr()::println);
      return 0;
    }
    return examine(options.device());
  }

  private int verify(Path file) throws IOException {
    List<String> errors = Validator.errors(text(file));
    PrintWriter out = spec.commandLine().getOut();
    errors.forEach(out::println);
    out.println(errors.isEmpty() ? "The report is valid." : "The report is not valid.");
    return errors.isEmpty() ? 0 : Cli.FAILED;
  }

  private static String text(Path file) throws IOException {
    try {
      return Files.readString(file);
    } catch (NoSuchFileException e) {
      throw new IOException("there is no file " + file, e);
    } catch (CharacterCodingException e) {
      throw new IOException(file + " is not text in UTF-8", e);
    }
  }

  private int examine(Device device) throws IOException, InterruptedException {
    PrintWriter out = spec.commandLine().getOut();
    Path folder = folder();
    out.println("The report will be in the folder " + folder + ". It stores:");
    Inventory.STORED.forEach(line -> out.println("  " + line));
    Machine machine = Machine.THIS;
    Inventory inventory = new Inventory(machine);
    Report report =
        new Report(
            folder,
            Redaction.ofThisHost(machine.firstLine("/proc/sys/kernel/hostname").orElse("")),
            Verbena.version(),
            inventory.kind(device, UdpDevice.isDescribedBy(options.name())),
            quick);
    step(report, "inventory", STEP, () -> report.put("inventory", inventory.of(device)));
    step(report, "doctor", STEP, () -> report.put("doctor", doctor(device, machine)));
    step(report, "conformance", CONFORMANCE, () -> conformance(device, report));
    int samples = quick ? QUICK_SAMPLES : SAMPLES;
    step(report, "data path", DATA_PATH, () -> dataPath(device, samples, report));
    if (peer != null) {
      String host = peer;
      step(
          report,
          "peer",
          PEER,
          () -> {
            Duration limit =
                Collections.min(List.of(quick ? QUICK_PEER : PEER, left())).minus(MARGIN);
            new PeerMeasurements(host, port, options, quick, limit, report, this::progress).run();
          });
    } else {
      report.notRun("peer", "no --peer was given");
    }
    report.end();
    out.print(report.measurements());
    out.println("Done: " + report.findings() + " findings. Read " + folder.resolve("report.md"));
    out.println("To send it: see docs/qualify.md. It is " + folder.resolve("issue.txt"));
    return 0;
  }

  private Path folder() {
    Path folder =
        output != null
            ? output
            : Path.of(
                "verbena-report-"
                    + DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss")
                        .format(LocalDateTime.now(ZoneOffset.UTC)));
    if (Files.exists(folder)) {
      throw Failure.usage(spec, folder + " exists: choose another folder");
    }
    return folder;
  }

  private static Object doctor(Device device, Machine machine) {
    return Doctor.tree(
        device.sysfsPath().isEmpty() ? Doctor.examineSoftware() : Doctor.examine(machine));
  }

  private void conformance(Device device, Report report) throws IOException, InterruptedException {
    int[] done = {0};
    new Conformance(device)
        .run(
            outcome -> {
              report.add(outcome);
              done[0]++;
              progress(done[0] + " of " + Conformance.count() + ": " + outcome.capability());
            });
  }

  private void dataPath(Device device, int samples, Report report) throws Exception {
    if (!device.sysfsPath().isEmpty()) {
      DataPathChild.run(device, options, samples, report);
      return;
    }
    report.put("data_path", new DataPathTimes(device, samples).measure(false, _ -> {}));
    report.notRun("data path in C", "C programs cannot use a software device");
    report.notRun("direct data path", "a software device has none");
  }

  /** Returns the time that is left of the whole. */
  private Duration left() {
    return (quick ? QUICK_WHOLE : WHOLE).minusNanos(System.nanoTime() - start);
  }

  private void progress(String text) {
    spec.commandLine().getErr().println("  " + text);
  }

  /** A step of the examination. */
  private interface Step {
    void run() throws Exception;
  }

  /**
   * Runs a step in a thread of its own, for a limited time. Its failure is part of the report, and
   * the next step begins; after a step that does not end, no other one begins.
   */
  private void step(Report report, String name, Duration most, Step step)
      throws IOException, InterruptedException {
    report.begin(name);
    Duration limit = Collections.min(List.of(most, left()));
    if (isStuck) {
      report.problem(name, Report.NOT_RUN + "an earlier step did not end");
      return;
    }
    if (limit.isNegative()) {
      report.problem(name, Report.NOT_RUN + "no time was left");
      return;
    }
    spec.commandLine().getErr().println(name + " ...");
    FutureTask<Void> task =
        new FutureTask<>(
            () -> {
              step.run();
              return null;
            });
    Thread thread = Thread.ofPlatform().daemon().name("qualify " + name).start(task);
    try {
      var _ = task.get(limit.toMillis(), TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      thread.interrupt();
      isStuck = true;
      report.problem(name, Report.NOT_ENDED + limit.toSeconds() + " s");
    } catch (ExecutionException e) {
      report.problem(name, describe(e.getCause()));
    }
  }

  private static String describe(Throwable cause) {
    boolean explains = cause instanceof RdmaException || cause instanceof IllegalStateException;
    return explains ? String.valueOf(cause.getMessage()) : cause.toString();
  }
}
