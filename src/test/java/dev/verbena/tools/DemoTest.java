package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.verbena.testing.Run;
import dev.verbena.verbs.Verbena;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The demo on software devices, and what it makes of the exit status of the lab. */
@Tag("host")
class DemoTest {
  @TempDir private Path home;

  @AfterEach
  void forget() {
    System.clearProperty("verbena.home");
  }

  @ParameterizedTest(name = "the lab ends with {0}: it is started {1} time(s)")
  @CsvSource({"0, 1, 0", "120, 2, 0", "134, 2, 0", "121, 1, 121", "1, 1, 1"})
  void restartsTheLabAfterACrash(String first, int starts, int status) throws IOException {
    Path lab = Files.createDirectories(home.resolve("src/lab")).resolve("lab");
    Path runs = home.resolve("runs");
    Files.writeString(
        lab,
        "#!/bin/sh\necho run >>%1$s\n[ $(wc -l <%1$s) -gt 1 ] || exit %2$s\n"
            .formatted(runs, first));
    Files.setPosixFilePermissions(lab, PosixFilePermissions.fromString("rwx------"));
    System.setProperty("verbena.home", home.toString());
    assertEquals(status, Run.of("demo", "--lab").status());
    assertEquals(starts, Files.readAllLines(runs).size());
  }

  @Test
  void showsEveryStepOnSoftwareDevices() {
    assumeTrue(Verbena.unsupportedReason().isPresent(), "this machine has an RDMA device");
    Run run = Run.of("demo", "-n", "200").succeeded();
    assertTrue(run.out().contains("two software devices in this JVM"), run.out());
    for (int step = 1; step <= 10; step++) {
      assertTrue(run.out().contains("\n" + step + ". "), run.out());
    }
    assertTrue(run.out().contains("sent_pkts +"), run.out());
    assertTrue(run.out().contains("It works."), run.out());
  }

  /** In place of software devices, which were not asked for. */
  @Test
  void aDeviceThatIsNamedIsNotReplaced() {
    assumeTrue(Verbena.unsupportedReason().isPresent(), "this machine has an RDMA device");
    assertEquals(3, Run.of("demo", "-d", "nope").status());
    assertEquals(3, Run.of("demo", "--peer-dev", "nope").status());
  }
}
