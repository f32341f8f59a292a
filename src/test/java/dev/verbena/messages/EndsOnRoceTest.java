package dev.verbena.messages;

import static dev.verbena.testing.Environment.TRIXIE;
import static dev.verbena.testing.Need.CM;
import static dev.verbena.testing.Need.PEERS;

import dev.verbena.messages.Ends.Place;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.NeedsDevice;
import dev.verbena.testing.Once;
import dev.verbena.testing.Program;
import dev.verbena.testing.RdmaResources;
import dev.verbena.testing.Rig;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.opentest4j.TestAbortedException;

/**
 * The rows of the table in docs/connecting-background.md, on Soft-RoCE: {@link
 * EndsOfConnectionsTest}.
 */
@Needs({CM, PEERS})
@Once(value = TRIXIE, reason = "the same ends of connections; some rows start a JVM")
class EndsOnRoceTest {
  private static final String DEVICES = "src/lab/devices";

  /** The rows share it until one of them ends it: in a guest, a JVM takes seconds to start. */
  private static @Nullable PeerProcess peer;

  private static PeerProcess peer() throws Exception {
    if (peer == null || !peer.serves()) {
      closePeer();
      peer = EndsOnRoce.startPeer();
    }
    return peer;
  }

  @AfterAll
  static void closePeer() {
    if (peer != null) {
      peer.close();
      peer = null;
    }
  }

  private static void devices(String action) throws Exception {
    try (Program program = Program.start(DEVICES, "spare", action)) {
      var _ = program.endsWell();
    }
  }

  private static List<EndOfConnection> rows() {
    return Arrays.stream(EndOfConnection.values())
        .filter(row -> row.happensAt(Place.ROCE) && row != EndOfConnection.REMOVED)
        .toList();
  }

  @ParameterizedTest
  @MethodSource("rows")
  @Tag("device")
  @ExtendWith(NeedsDevice.class)
  void connectionEndsAsTheTableSays(EndOfConnection row) throws Exception {
    try (Ends ends = new EndsOnRoce(peer(), row.settings(Place.ROCE))) {
      row.check(ends);
    }
  }

  @DeviceTest
  void connectionEndsWithItsDevice() throws Exception {
    RdmaResources.requireToldBeforeWaitedFor();
    onSpareDevices();
  }

  /** In a JVM of its own, since a device that is open cannot be removed. */
  private static void onSpareDevices() throws Exception {
    if (Rig.labGuest().isEmpty()) {
      throw new TestAbortedException("needs a machine to make devices on");
    }
    devices("up");
    try {
      ProcessBuilder builder = new ProcessBuilder(Program.java(EndsOnRoceMain.class));
      builder
          .environment()
          .putAll(
              Map.of(
                  "VERBENA_DEVICE_A", "rxc",
                  "VERBENA_DEVICE_B", "rxd",
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
