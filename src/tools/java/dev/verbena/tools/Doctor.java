package dev.verbena.tools;

import dev.verbena.tools.Check.Verdict;
import dev.verbena.tools.command.Cli;
import dev.verbena.tools.command.UdpDevice;
import dev.verbena.tools.output.Json;
import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Checks the requirements of RDMA. */
@Command(
    name = "doctor",
    header = "Check the requirements of RDMA on this host, and show remedies.",
    footerHeading = Cli.EXAMPLES,
    footer = "  verbena doctor --device udp:127.0.0.1 --json")
final class Doctor implements Callable<Integer> {
  private static final Map<Verdict, String> STYLES =
      Map.of(Verdict.OK, "green", Verdict.NOTE, "yellow", Verdict.PROBLEM, "red,bold");

  @Spec private CommandSpec spec;

  @Option(names = "--json", description = "Write JSON.")
  private boolean json;

  @Mixin
  @SuppressWarnings("UnusedVariable") // Required by picocli.
  private UdpDevice device;

  @Override
  public Integer call() {
    boolean overUdp = spec.commandLine().getParseResult().hasMatchedOption(UdpDevice.OPTION);
    Map<String, List<Check>> checks = overUdp ? examineSoftware() : examine(Machine.THIS);
    PrintWriter out = spec.commandLine().getOut();
    if (json) {
      out.println(Json.of(tree(checks)));
    } else {
      print(checks, out);
    }
    return count(checks, Verdict.PROBLEM) == 0 ? 0 : Cli.FAILED;
  }

  /** Runs the checks of a software device, which needs neither kernel module nor library. */
  static Map<String, List<Check>> examineSoftware() {
    Map<String, List<Check>> checks = new LinkedHashMap<>();
    checks.put("Java", JavaChecks.java());
    checks.put("Devices", DeviceChecks.run(List.of()));
    return checks;
  }

  /**
   * Runs all checks by topic, in the order of their dependencies; on other systems than Linux those
   * of software devices.
   */
  static Map<String, List<Check>> examine(Machine machine) {
    if (!Machine.isLinux()) {
      Map<String, List<Check>> checks = examineSoftware();
      checks.put("Choices", List.of(DeviceChoices.inOneJvm()));
      return checks;
    }
    Map<String, List<Check>> checks = new LinkedHashMap<>();
    checks.put("Java", JavaChecks.java());
    checks.put("Libraries", JavaChecks.libraries());
    checks.put("Kernel", new KernelChecks(machine).run());
    checks.put("Limits", new LimitChecks(machine).run());
    checks.put("Devices", DeviceChecks.run(machine.names("/sys/class/infiniband")));
    checks.put("Choices", new DeviceChoices(machine).run());
    return checks;
  }

  private void print(Map<String, List<Check>> checks, PrintWriter out) {
    Ansi ansi = spec.commandLine().getColorScheme().ansi();
    checks.forEach(
        (topic, ofTopic) -> {
          out.println(ansi.string("@|bold " + topic + "|@"));
          ofTopic.forEach(check -> print(check, ansi, out));
        });
    long problems = count(checks, Verdict.PROBLEM);
    out.println();
    out.println(
        problems == 0
            ? "RDMA can be used here."
            : problems + (problems == 1 ? " problem" : " problems") + " to solve, in this order.");
  }

  private static void print(Check check, Ansi ansi, PrintWriter out) {
    String verdict = check.verdict().word();
    String style = STYLES.get(check.verdict());
    out.println(
        "  "
            + ansi.string("@|" + style + " " + verdict + "|@")
            + " ".repeat(9 - verdict.length())
            + check.finding());
    if (!check.advice().isEmpty()) {
      out.println("           do: " + check.advice());
    }
  }

  private static long count(Map<String, List<Check>> checks, Verdict verdict) {
    return checks.values().stream()
        .flatMap(List::stream)
        .filter(check -> check.verdict() == verdict)
        .count();
  }

  static Map<String, Object> tree(Map<String, List<Check>> checks) {
    Map<String, Object> tree = new LinkedHashMap<>();
    checks.forEach(
        (topic, ofTopic) ->
            tree.put(topic.toLowerCase(Locale.ROOT), ofTopic.stream().map(Check::tree).toList()));
    return tree;
  }
}
