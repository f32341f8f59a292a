package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.ForkedJvm;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** Programs whose software devices are described wrongly. */
class ConfiguredDevicesTest {
  @ParameterizedTest
  @CsvSource({
    "udp:nonsense, 1, not an IP address: nonsense",
    "udp:127.0.0.1:99999, 1, a UDP port is 1 to 65535",
    "udp:192.0.2.77, 3, EADDRNOTAVAIL",
    "65, 1, at most 64 devices",
    "soft0, 1, NAME=ADDRESS"
  })
  void aWrongDescriptionIsReportedInOneLine(String description, int exit, String message) {
    var run =
        new ForkedJvm()
            .with("-Ddev.verbena.soft=" + description)
            .withNativeAccess()
            .withJarOf(CommandLine.class)
            .withJarOf(Histogram.class)
            .run(Main.class, "devinfo");
    assertEquals(exit, run.exit(), run.output());
    assertTrue(run.output().contains(message), run.output());
    assertEquals(1, run.output().lines().count(), run.output());
  }
}
