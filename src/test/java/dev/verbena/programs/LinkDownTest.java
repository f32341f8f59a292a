package dev.verbena.programs;

import static dev.verbena.testing.Environment.FORKY;
import static dev.verbena.testing.Need.CM;
import static dev.verbena.testing.Need.KERNEL;
import static dev.verbena.testing.Need.PEERS;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Once;
import dev.verbena.testing.Program;
import dev.verbena.testing.Rig;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.opentest4j.TestAbortedException;

/**
 * Connections, {@code rping} and {@code perf} whose link is down for two seconds: on devices of the
 * test's own, since RDMA CM is lost on a device of Soft-RoCE that had to send one of its messages
 * meanwhile (its queue pair 1 stays in state ERR), and in a JVM of its own, since a device that is
 * open cannot be removed.
 */
@Needs({CM, PEERS, KERNEL})
@Once(value = FORKY, reason = "the same, with a link that is down")
class LinkDownTest {
  private static final String DEVICES = "src/lab/devices";

  private static void devices(String action) throws Exception {
    try (Program program = Program.start(DEVICES, "spare", action)) {
      program.endsWell();
    }
  }

  @DeviceTest
  @DisplayName("link down for 2 s: whatever waits ends, and nothing is left behind")
  void whatWaitsEnds() throws Exception {
    if (Rig.labGuest().isEmpty()) {
      throw new TestAbortedException("needs a machine to make devices on");
    }
    devices("up");
    try {
      ProcessBuilder builder = new ProcessBuilder(Program.java(LinkDownMain.class));
      builder
          .environment()
          .putAll(
              Map.of(
                  "VERBENA_DEVICE_A", "rxc",
                  "VERBENA_DEVICE_B", "rxd",
                  "VERBENA_NETDEV_A", "vc",
                  "VERBENA_ADDRESS_A", "10.9.2.1",
                  "VERBENA_ADDRESS_B", "10.9.2.2"));
      try (Program program = Program.start(builder)) {
        System.out.println(program.endsWell());
      }
    } finally {
      devices("remove");
    }
  }
}
