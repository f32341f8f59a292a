package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.ForkedJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A JVM that is told another operating system, so that each call of a function of Linux throws. In
 * such a JVM the device tests of {@code Environment.ELSEWHERE} run.
 */
@Tag("host")
class WithoutLinuxTest {
  private static String run(String devices) {
    return new ForkedJvm()
        .withNativeAccess()
        .with("-Dos.name=Other", "-Ddev.verbena.soft=" + devices)
        .run(WithoutLinuxMain.class)
        .succeeded();
  }

  private static void assertShows(String output, String line) {
    assertTrue(output.lines().anyMatch(one -> one.matches(line)), line + " in\n" + output);
  }

  @Test
  void softwareDevicesWorkAndWhatNeedsLinuxSaysSo() {
    String output = run("0");
    assertShows(output, "supported: false");
    assertShows(
        output, "devices: Verbena needs Linux .*; this is Other on .* devices of one JVM work");
    assertShows(output, "over UDP: Verbena needs Linux .*");
    assertShows(output, "received: hello");
    assertShows(output, "refused: ibv_reg_mr: .*ENOMEM.*");
    assertShows(output, "prefaulted: 5000");
    assertShows(output, "huge pages: memory of huge pages needs Linux .*; .*: leave hugePages out");
    assertShows(output, "node: memory of a NUMA node needs Linux .*; .*: leave numaNode out");
    assertShows(output, "channel: a file descriptor .* needs Linux .*; .* methods of the channel");
    assertShows(output, "CM: a file descriptor .* needs Linux .*; .* methods of the channel");
    assertShows(output, "file: a file descriptor needs Linux .*; .*: use what needs none");
  }

  @Test
  void configuredDevicesAreListed() {
    String output = run("2");
    assertShows(output, "supported: true");
    assertShows(output, "devices: \\[soft0, soft1\\]");
  }
}
