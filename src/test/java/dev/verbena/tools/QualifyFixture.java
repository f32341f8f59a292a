package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Await;
import dev.verbena.testing.Run;
import dev.verbena.testing.Words;
import dev.verbena.tools.output.Json;
import dev.verbena.tools.qualify.Validator;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.junit.jupiter.api.io.TempDir;

/** Runs {@code qualify} on software devices, and reads its report. */
abstract class QualifyFixture {
  @TempDir Path folder;

  Path report() {
    return folder.resolve("report");
  }

  Map<?, ?> read() throws IOException {
    String json = Files.readString(report().resolve("report.json"));
    assertEquals(List.of(), Validator.errors(json));
    return (Map<?, ?>) Json.parse(json);
  }

  static List<?> rows(Map<?, ?> report, String name) {
    return (List<?>) report.get(name);
  }

  static long count(List<?> rows, String name, Object value) {
    return rows.stream().filter(row -> value.equals(((Map<?, ?>) row).get(name))).count();
  }

  /** Runs on a device of a network of this test. */
  Run run(SoftNetwork network, String... more) throws Exception {
    return network.call(
        () ->
            Run.of(Words.of("qualify", "--quick", "-d", "soft0", "--output", "" + report(), more)));
  }

  static SoftNetwork network() throws IOException {
    SoftNetwork network = SoftNetwork.create();
    var _ = network.addDevice("soft0", InetAddress.getByName("10.9.8.7"));
    return network;
  }

  /** Waits until the report satisfies a condition, which it must before the program ends. */
  void awaitReport(Predicate<String> condition, BooleanSupplier hasEnded) {
    Path json = report().resolve("report.json");
    Await.until(
        "the report",
        () -> {
          try {
            return hasEnded.getAsBoolean()
                || (Files.exists(json) && condition.test(Files.readString(json)));
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        });
    assertFalse(hasEnded.getAsBoolean(), "it ended before");
  }
}
