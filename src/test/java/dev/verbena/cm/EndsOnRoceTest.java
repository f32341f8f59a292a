package dev.verbena.cm;

import dev.verbena.cm.Ends.Place;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Program;
import dev.verbena.testing.Rig;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import org.opentest4j.TestAbortedException;

/** The rows of the table in docs/connecting.md, on Soft-RoCE: {@link EndsOfConnectionsTest}. */
class EndsOnRoceTest {
  private static final String DEVICES = "src/lab/devices";

  /** Their devices are not usable afterwards. */
  private static final Set<EndOfConnection> DESTRUCTIVE =
      EnumSet.of(EndOfConnection.REMOVED, EndOfConnection.PARTITION, EndOfConnection.SILENT);

  private static void devices(String action) throws Exception {
    try (Program program = Program.start(DEVICES, "spare", action)) {
      var _ = program.endsWell();
    }
  }

  @DeviceTest
  void connectionsEndAsTheTableSays() throws Exception {
    for (EndOfConnection row : EndOfConnection.values()) {
      if (row.happensAt(Place.ROCE) && !DESTRUCTIVE.contains(row)) {
        System.out.println(row);
        try (Ends ends = new EndsOnRoce(row.settings(Place.ROCE))) {
          row.check(ends);
        }
      }
    }
  }

  @DeviceTest
  void connectionEndsWithItsDevice() throws Exception {
    DeviceRemovalTest.requireToldBeforeWaitedFor();
    onSpareDevices(EndOfConnection.REMOVED);
  }

  @DeviceTest
  void connectionWithoutALinkFails() throws Exception {
    onSpareDevices(EndOfConnection.PARTITION);
  }

  @DeviceTest
  void keepAliveNoticesThatTheLinkIsDown() throws Exception {
    onSpareDevices(EndOfConnection.SILENT);
  }

  /** In a JVM of its own, since a device that is open cannot be removed. */
  private static void onSpareDevices(EndOfConnection row) throws Exception {
    if (Rig.labGuest().isEmpty()) {
      throw new TestAbortedException("needs a machine to make devices on");
    }
    devices("up");
    try {
      ProcessBuilder builder = new ProcessBuilder(Program.java(EndsOnRoceMain.class, row.name()));
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
        var _ = program.endsWell();
      }
    } finally {
      devices("remove");
    }
  }
}
