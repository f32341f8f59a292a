package dev.verbena.lab;

import static dev.verbena.testing.Need.BY_HAND;
import static dev.verbena.testing.Need.KERNEL;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Environment;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Program;
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
@Needs({KERNEL, BY_HAND})
class UdpConformanceTest {
  /** Device b answers in the tests of these classes. */
  private static final String CLASSES =
      "AddrTest AtomicTest BufTest CqEventsTest CqExTest FullSendQueueTest OdpTest QpExTest QpTest"
          + " SrqTest UcTest";

  /** Names of classes of {@code dev.verbena.verbs} to run instead of {@link #CLASSES}. */
  private static final String[] CHOSEN =
      System.getProperty("verbena.lab.udp.tests", CLASSES).split(" ");

  @RegisterExtension static final UdpWire wire = new UdpWire();

  @TempDir private Path reports;

  @DeviceTest
  void softwareDeviceTalksToSoftRoce() throws Exception {
    run(
        Environment.UDP_TO_ROCE,
        Map.of(
            "VERBENA_DEVICE_A", "udp0",
            "VERBENA_ADDRESS_A", UdpWire.SOFT,
            "VERBENA_DEVICE_B", UdpWire.DEVICE,
            "VERBENA_ADDRESS_B", UdpWire.ROCE));
  }

  @DeviceTest
  void softRoceTalksToSoftwareDevice() throws Exception {
    run(
        Environment.ROCE_TO_UDP,
        Map.of(
            "VERBENA_DEVICE_A", UdpWire.DEVICE,
            "VERBENA_ADDRESS_A", UdpWire.ROCE,
            "VERBENA_ADDRESS6_A", UdpWire.ROCE6,
            "VERBENA_DEVICE_B", "udp0",
            "VERBENA_ADDRESS_B", UdpWire.SOFT));
  }

  private void run(Environment environment, Map<String, String> devices) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-XX:TieredStopAtLevel=1"));
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.add("-D" + Environment.PROPERTY + "=" + environment);
    command.addAll(List.of(UdpLabMain.class.getName(), "none", reports.toString()));
    for (String name : CHOSEN) {
      command.add("dev.verbena.verbs." + name);
    }
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().put("VERBENA_SOFT", "udp:" + UdpWire.SOFT);
    builder.environment().putAll(devices);
    try (Program tests = Program.start(builder)) {
      System.out.println(environment + ": " + tests.endsWell().strip().lines().toList().getLast());
    }
  }
}
