package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.verbena.testing.ForkedJvm;
import dev.verbena.testing.Run;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.Verbena;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.DatagramSocket;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a user sees who has no RDMA device, or software devices beside the real ones. */
@Tag("host")
class FirstContactTest {
  private static final List<String> WAYS =
      List.of("-Ddev.verbena.soft=2", "--both-ends", "--device udp:", "doctor");

  /** Lists the devices. */
  static final class Listing {
    private Listing() {}

    /** Prints the number of devices. */
    public static void main(String[] args) {
      System.out.println(Device.list().size() + " devices");
    }
  }

  private static String error(String... command) {
    StringWriter err = new StringWriter();
    assertFalse(
        Run.writing(new PrintWriter(new StringWriter()), new PrintWriter(err, true), command) == 0);
    return err.toString();
  }

  @ParameterizedTest
  @ValueSource(strings = {"pingpong", "devinfo", "rstream -s 192.0.2.9"})
  void aProgramWithoutADeviceNamesTheWaysOn(String command) {
    assumeTrue(Verbena.unsupportedReason().isPresent(), "this machine has an RDMA device");
    String error = error(command.split(" ", -1));
    WAYS.forEach(way -> assertTrue(error.contains(way), error));
    assertEquals(error.indexOf("--both-ends"), error.lastIndexOf("--both-ends"), error);
  }

  @Test
  void theReasonWhyRdmaIsUnsupportedNamesTheWaysOn() {
    assumeTrue(Verbena.unsupportedReason().isPresent(), "this machine has an RDMA device");
    String text = Verbena.unsupportedReason().orElseThrow().explanation();
    WAYS.forEach(way -> assertTrue(text.contains(way), text));
  }

  @Test
  void softwareDevicesBeforeRealOnesAreLoggedOnce() {
    String byProperty =
        new ForkedJvm()
            .withNativeAccess()
            .with("-Ddev.verbena.soft=2")
            .run(Listing.class)
            .succeeded();
    assertTrue(byProperty.contains("system property dev.verbena.soft=2"), byProperty);
    String byVariable =
        new ForkedJvm()
            .withNativeAccess()
            .withVariable("VERBENA_SOFT", "2")
            .run(Listing.class)
            .succeeded();
    assertTrue(byVariable.contains("environment variable VERBENA_SOFT=2"), byVariable);
    assertEquals(byVariable.indexOf("INFO"), byVariable.lastIndexOf("INFO"), byVariable);
  }

  @Test
  void doctorChecksOnlyWhatADeviceOverUdpNeeds() throws Exception {
    int port;
    try (DatagramSocket socket = new DatagramSocket()) {
      port = socket.getLocalPort();
    }
    StringWriter out = new StringWriter();
    int status =
        Run.writing(
            new PrintWriter(out, true),
            new PrintWriter(new StringWriter()),
            "doctor",
            "--device",
            "udp:127.0.0.1:" + port);
    assertEquals(0, status, out::toString);
    assertTrue(out.toString().contains("udp0 can be opened"), out::toString);
    assertFalse(out.toString().contains("ib_uverbs"), out::toString);
  }
}
