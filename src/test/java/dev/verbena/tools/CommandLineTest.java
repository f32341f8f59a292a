package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import dev.verbena.flow.FlowType;
import dev.verbena.testing.Ports;
import dev.verbena.testing.Run;
import dev.verbena.tools.command.Cli;
import dev.verbena.verbs.Verbena;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the command line answers on any machine. */
class CommandLineTest {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "--version",
        "demo --help",
        "pingpong --both-ends -n 10",
        "perf lat --both-ends -n 10 --csv",
        "perf bw --both-ends -n 10 --json"
      })
  void outputThatCannotBeWrittenIsAFailure(String line) {
    OutputStream full =
        new OutputStream() {
          @Override
          public void write(int b) throws IOException {
            throw new IOException("No space left on device");
          }
        };
    StringWriter err = new StringWriter();
    int status =
        Run.writing(
            new PrintWriter(
                new PrintStream(full, true, StandardCharsets.UTF_8), true, StandardCharsets.UTF_8),
            new PrintWriter(err, true),
            line.split(" "));
    assertEquals(1, status, err.toString());
    assertTrue(err.toString().contains("could not be written"), err.toString());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "demo",
        "doctor",
        "devinfo",
        "events",
        "rc-example",
        "pingpong",
        "rping",
        "mckey",
        "mc",
        "srq",
        "apm",
        "batch",
        "packets",
        "packets receive",
        "packets send",
        "perf",
        "perf lat",
        "perf bw",
        "perf shadow",
        "sniff"
      })
  void everyCommandHasHelp(String command) {
    Run run = Run.of((command + " --help").split(" "));
    assertAll(
        () -> assertEquals(0, run.status(), run.err()),
        () ->
            assertTrue(
                run.out().startsWith("RDMA")
                    || run.out().matches("(?s).*Usage: (verbena|programs).*")));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "12345",
        "perf",
        "packets",
        "pingpong -i -1",
        "pingpong -n -5",
        "pingpong -r 1",
        "pingpong --iters many",
        "pingpong --timeout 0",
        "doctor --trace",
        "pingpong --trace",
        "pingpong -z",
        "events -i 2",
        "events -g 3"
      })
  void wrongUsageIsTwo(String line) {
    Run run = Run.of(line.isEmpty() ? new String[0] : line.split(" "));
    assertEquals(2, run.status(), run.out());
    assertEndsWithTheError(run);
  }

  /** The last lines are the error and where to look; only a missing command lists all of them. */
  private static void assertEndsWithTheError(Run run) {
    List<String> lines = run.err().lines().toList();
    assertTrue(lines.getLast().matches("Try '(verbena|programs).* --help'\\."), run.err());
    assertFalse(lines.get(lines.size() - 2).isBlank(), run.err());
    assertTrue(lines.size() == 2 || run.err().contains("missing command"), run.err());
  }

  @ParameterizedTest
  @CsvSource({
    "pingpong -n -5, --iters must be 1 or more: -5",
    "demo -n 0, --iters must be 1 or more: 0",
    "events -n 0, --count must be 1 or more: 0",
    "events -t 0, --timeout must be 1 or more: 0",
    "top -n 0, --count must be 1 or more: 0",
    "top -i 0, --interval must be 1 or more: 0",
    "top -r -1, --rows must be 0 or more: -1",
    "perf lat -n 0, --iters must be 1 to 1000000000: 0",
    "perf lat -w -1, --warm-up must be 0 to 1000000000: -1",
    "perf lat -s 0, --size must be 1 to 1073741824: 0",
    "perf lat --sizes 64:1, '--sizes must rise, to at most 1073741824: 64:1'",
    "perf lat --both-ends -n 0, --iters must be 1 to 1000000000: 0",
    "perf bw -q 65, --qp must be 1 to 64: 65",
    "perf bw -q 64 -n 20000000, --iters must be 1 to 15625000: 20000000",
    "perf shadow -n 0, --iters must be 1 to 10000000: 0",
    "pingpong --timeout 0, --timeout must be 1 to 1000000: 0",
    "qualify --serve -p 65536, --port must be 1 to 65535: 65536",
    "rping -s -p 0, -p must be 1 to 65535: 0"
  })
  void errorNamesOptionAndValue(String line, String error) {
    assertEquals(error, firstLine(Run.of(line.split(" ")).err()));
  }

  @ParameterizedTest
  @CsvSource({
    "frobnicate, ''",
    "snif, sniff",
    "dmeo, demo",
    "perf lta, lat",
    "pingpong --iter, --iters",
    "perf bw --chat x, --chart"
  })
  void onlyATypingErrorSuggestsACommandOrOption(String line, String meant) {
    Run run = Run.of(line.split(" "));
    assertEquals(2, run.status(), run.out());
    List<String> suggested =
        run.err().lines().filter(said -> said.startsWith("Did you mean")).toList();
    List<String> expected = meant.isEmpty() ? List.of() : List.of("Did you mean " + meant + "?");
    assertEquals(expected, suggested, run.err());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"doctor", "devinfo", "events", "top", "sniff", "rstream", "rcopy", "perf shadow"})
  void traceIsNoOptionWhereItHasNoEffect(String command) {
    assertFalse(Run.of((command + " --help").split(" ")).out().contains("--trace"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"rc-example -i -1", "rc-example -g -1", "rc-example one two", "rc-example --jump"})
  void wrongUsageOfTheManualsProgramIsOne(String line) {
    Run run = Run.of(line.split(" "));
    assertEquals(1, run.status(), run.out());
    assertEndsWithTheError(run);
  }

  @Test
  void errorIsOneLineUnlessVerbose() {
    Run quiet = Run.of("sniff", "/missing");
    assertEquals(1, quiet.status());
    assertEquals(1, quiet.err().lines().count(), quiet.err());
    Run verbose = Run.of("sniff", "--verbose", "/missing");
    assertTrue(verbose.err().contains("\tat "), verbose.err());
  }

  @Test
  void rcExamplePrintsItsError() {
    String port = Ports.free();
    Run quiet = Run.of("rc-example", "-p", port, "localhost");
    Run verbose = Run.of("rc-example", "-p", port, "--verbose", "localhost");
    assertAll(
        () -> assertEquals(1, quiet.status()),
        () -> assertTrue(quiet.out().endsWith("\ntest result is 1\n"), quiet.out()),
        () -> assertEquals("Couldn't connect to localhost:" + port, firstLine(quiet.err())),
        () -> assertEquals(2, quiet.err().lines().count(), quiet.err()),
        () -> assertEquals(1, verbose.status()),
        () -> assertTrue(verbose.err().contains("\tat "), verbose.err()));
  }

  @Test
  void everyFlowTypeIsAnOption() {
    String help = Run.of("packets", "receive", "--help").out();
    for (FlowType type : FlowType.values()) {
      assertTrue(help.contains(type.name()), help);
    }
  }

  private static String firstLine(String text) {
    return text.lines().findFirst().orElseThrow();
  }

  @Test
  void missingDeviceIsNamed() {
    Run run = Run.of("devinfo", "-d", "nosuchdevice0");
    assertTrue(run.status() == 1 || run.status() == 3, run.err());
    assertTrue(run.err().contains("nosuchdevice0") || !Verbena.isSupported(), () -> run.err());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "devinfo",
        "top",
        "batch",
        "packets receive --rule sniffer",
        "packets send --dmac 02:00:00:00:00:0a",
        "pingpong",
        "perf lat --cm",
        "rping -s",
        "mckey -m 239.9.9.9",
        "mc -m 239.9.9.9",
        "srq -s -a 127.0.0.1",
        "apm -s"
      })
  void withoutRdmaIsThree(String line) {
    assumeFalse(Verbena.isSupported(), "this machine has RDMA");
    Run run = Run.of(line.split(" "));
    assertEquals(Cli.UNSUPPORTED, run.status(), run.out() + run.err());
    assertTrue(run.err().lines().count() <= 3, run.err());
    assertFalse(run.err().contains("\tat "), run.err());
  }
}
