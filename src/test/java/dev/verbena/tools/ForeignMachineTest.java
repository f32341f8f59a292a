package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.ForkedJvm;
import dev.verbena.testing.Run;
import dev.verbena.tools.command.Cli;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

/** The command line in a JVM that cannot or must not call C: there the doctor is needed most. */
class ForeignMachineTest {
  private static ForkedJvm jvm() {
    return new ForkedJvm().withJarOf(CommandLine.class).withJarOf(Histogram.class);
  }

  private static ForkedJvm denied() {
    return Runtime.version().feature() >= 24
        ? jvm().with("--illegal-native-access=deny")
        : jvm().with("--enable-native-access=java.logging");
  }

  private static ForkedJvm onMac() {
    return jvm().withNativeAccess().with("-Dos.name=Mac OS X");
  }

  @Test
  void doctorReportsAnotherOperatingSystem() {
    String report = report(onMac());
    assertTrue(report.contains("problem  Verbena needs Linux"), report);
  }

  @Test
  void doctorReportsDeniedNativeAccess() {
    String report = report(denied());
    assertTrue(report.contains("note     not checked"), report);
    assertTrue(report.contains("problem  native access is not enabled for Verbena"), report);
    assertTrue(report.contains("do: java --enable-native-access=ALL-UNNAMED"), report);
  }

  /** The whole report, down to its last line, which claims nothing that was not looked at. */
  private static String report(ForkedJvm jvm) {
    ForkedJvm.Result result = jvm.run(Main.class, "doctor");
    String report = result.output();
    assertAll(
        () -> assertEquals(Cli.FAILED, result.exit(), report),
        () -> assertTrue(report.contains("problem  listing devices failed"), report),
        () -> assertTrue(report.contains("to solve, in this order."), report),
        () -> assertFalse(report.contains("is there"), report),
        () -> assertFalse(report.contains("\tat "), report));
    return report;
  }

  @ParameterizedTest
  @ValueSource(strings = {"devinfo", "batch", "rping -s", "mckey -m 239.9.9.9", "apm -s"})
  void otherCommandsReportTheMissingRequirement(String line) {
    for (ForkedJvm jvm : new ForkedJvm[] {onMac(), denied()}) {
      String[] command = line.split(" ");
      ForkedJvm.Result result = jvm.run(Run.programOf(command), command);
      assertEquals(Cli.UNSUPPORTED, result.exit(), result.output());
      assertFalse(result.output().contains("\tat "), result.output());
      assertFalse(result.output().contains("--verbose"), result.output());
      assertTrue(
          result.output().contains("needs Linux")
              || result.output().contains("--enable-native-access=ALL-UNNAMED"),
          result.output());
    }
  }
}
