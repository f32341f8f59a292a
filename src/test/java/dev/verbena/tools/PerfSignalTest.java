package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.Ports;
import dev.verbena.testing.Program;
import dev.verbena.testing.Words;
import dev.verbena.tools.output.Json;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code perf} that a signal ends prints what it has measured. */
@Tag("host")
class PerfSignalTest {
  @TempDir private Path folder;

  /** More operations than end. */
  private static final String ENDLESS = "900000000";

  /** Starts a measurement; a JVM that a shell has started in the background ignores SIGINT. */
  private static Program start(String... options) throws Exception {
    List<String> command = new ArrayList<>(List.of("env", "--default-signal=INT"));
    String[] perf = Words.of("perf", options[0], "--both-ends", "-p", Ports.free());
    String[] more = List.of(options).subList(1, options.length).toArray(String[]::new);
    command.addAll(Program.java(Main.class, Words.of(perf, more)));
    return Program.start(command);
  }

  private static void signal(String name, Program program) throws Exception {
    String pid = "" + program.process().pid();
    assertEquals(0, new ProcessBuilder("kill", "-" + name, pid).start().waitFor());
  }

  @ParameterizedTest
  @CsvSource({"lat, INT, 130", "bw, TERM, 143"})
  void anInterruptedSizeIsPrinted(String measured, String signal, int status) throws Exception {
    try (Program perf = start(measured, "-s", "64", "-w", "16", "-n", ENDLESS, "--json")) {
      perf.says("64 B: "); // It measures: the warm-up has ended.
      signal(signal, perf);
      assertEquals(status, perf.exitStatus(), perf.text());
      assertTrue(perf.text().contains("\"complete\": false"), perf.text());
      assertTrue(perf.text().matches("(?s).*\"count\": [1-9].*"), perf.text());
      String interrupted = "verbena perf " + measured + ": interrupted";
      assertEquals(1, perf.text().lines().filter(interrupted::equals).count(), perf.text());
    }
  }

  @ParameterizedTest
  @CsvSource({"lat, INT, 130", "bw, TERM, 143"})
  void anInterruptedWarmUpIsJsonWithoutResultsAndNoChart(String measured, String signal, int status)
      throws Exception {
    Path chart = folder.resolve("chart.svg");
    try (Program perf =
        start(measured, "-w", ENDLESS, "-n", "16", "--json", "--chart", chart.toString())) {
      perf.says("B, warm-up: ");
      assertTrue(Files.exists(chart), "opened before the measurement");
      signal(signal, perf);
      assertEquals(status, perf.exitStatus(), perf.text());
      String text = perf.text();
      Object json = Json.parse(text.substring(text.indexOf('{'), text.lastIndexOf('}') + 1));
      Map<?, ?> result = assertInstanceOf(Map.class, json);
      assertEquals(false, result.get("complete"));
      assertEquals(List.of(), result.get("sizes"));
      assertFalse(Files.exists(chart), "an empty chart");
    }
  }

  @ParameterizedTest
  @CsvSource({"--csv, TERM, 143", "--size=64, INT, 130"})
  void anInterruptedWarmUpIsSaidWhereThereIsNoJson(String form, String signal, int status)
      throws Exception {
    try (Program perf = start("lat", "-w", ENDLESS, "-n", "16", form)) {
      perf.says("B, warm-up: ");
      signal(signal, perf);
      assertEquals(status, perf.exitStatus(), perf.text());
      String said = "nothing was measured: the first measurement had not ended";
      assertEquals(1, perf.text().lines().filter(said::equals).count(), perf.text());
    }
  }

  @ParameterizedTest
  @CsvSource({"lat, TERM, 143", "bw, INT, 130"})
  void aRowIsPrintedAsItsSizeEnds(String measured, String signal, int status) throws Exception {
    try (Program perf = start(measured, "--sizes", "64:1073741824:127", "-w", "0", "-n", "2000")) {
      perf.says("\n       64      2000 ");
      perf.says("\n     8128      2000 ");
      signal(signal, perf);
      assertEquals(status, perf.exitStatus(), perf.text());
    }
  }

  @Test
  void anInterruptedTextHasTheNumberOfWhatWasPlanned() throws Exception {
    try (Program perf = start("lat", "-w", "0", "-n", ENDLESS)) {
      perf.says("64 B: ");
      signal("TERM", perf);
      assertEquals(143, perf.exitStatus(), perf.text());
      assertTrue(
          perf.text().matches("(?s).*\nsend, 64 B, [1-9]\\d* of " + ENDLESS + " times:\nmin .*"),
          perf.text());
    }
  }
}
