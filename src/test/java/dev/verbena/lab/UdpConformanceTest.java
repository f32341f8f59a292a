package dev.verbena.lab;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Program;
import dev.verbena.testing.Rig;
import dev.verbena.testing.UdpWire;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * The device tests between a software device over UDP and Soft-RoCE, each of which is device a
 * once, in a JVM of their own.
 */
class UdpConformanceTest {
  /** Device b answers in the tests of these classes. */
  private static final String CLASSES =
      "AddrTest AtomicTest BufTest CqEventsTest CqExTest OdpTest QpExTest QpTest SrqTest UcTest";

  /** Names of classes of {@code dev.verbena.verbs} to run instead of {@link #CLASSES}. */
  private static final String[] CHOSEN =
      System.getProperty("verbena.lab.udp.tests", CLASSES).split(" ");

  @RegisterExtension static final UdpWire wire = new UdpWire();

  @TempDir private Path reports;

  @DeviceTest
  void softwareDeviceTalksToSoftRoce() throws Exception {
    run(
        "udp-to-rxe",
        Map.of(
            "VERBENA_DEVICE_A", "udp0",
            "VERBENA_ADDRESS_A", UdpWire.SOFT,
            "VERBENA_DEVICE_B", UdpWire.DEVICE,
            "VERBENA_ADDRESS_B", UdpWire.ROCE));
  }

  @DeviceTest
  void softRoceTalksToSoftwareDevice() throws Exception {
    run(
        "rxe-to-udp",
        Map.of(
            "VERBENA_DEVICE_A", UdpWire.DEVICE,
            "VERBENA_ADDRESS_A", UdpWire.ROCE,
            "VERBENA_ADDRESS6_A", UdpWire.ROCE6,
            "VERBENA_DEVICE_B", "udp0",
            "VERBENA_ADDRESS_B", UdpWire.SOFT));
  }

  private void run(String gaps, Map<String, String> devices) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-XX:TieredStopAtLevel=1"));
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.add(UdpLabMain.class.getName());
    String list = gaps + "-" + Rig.labGuest().orElseThrow();
    command.addAll(List.of("none", "src/lab/gaps/" + list, reports.toString()));
    for (String name : CHOSEN) {
      command.add("dev.verbena.verbs." + name);
    }
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().put("VERBENA_SOFT", "udp:" + UdpWire.SOFT);
    builder.environment().putAll(devices);
    try (Program tests = Program.start(builder)) {
      System.out.println(gaps + ": " + tests.endsWell().strip().lines().toList().getLast());
    }
  }
}
