package dev.verbena.testing;

import static java.util.stream.Collectors.toMap;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.soft.SoftNetwork;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtensionContext;

/** A device test without a device is skipped, and fails if it was chosen by name. */
@Tag("host")
class NeedsDeviceTest {
  private final String chosen = System.getProperty(NeedsDevice.CHOSEN);
  private final NeedsDevice condition = new NeedsDevice();

  /** A device test, as JUnit describes it to an extension. */
  private final ExtensionContext context = contextOf(OnDevices.class, "runs");

  private static ExtensionContext contextOf(Class<?> testClass, String test) {
    return (ExtensionContext)
        Proxy.newProxyInstance(
            NeedsDeviceTest.class.getClassLoader(),
            new Class<?>[] {ExtensionContext.class},
            (proxy, method, arguments) ->
                switch (method.getName()) {
                  case "getRequiredTestClass" -> testClass;
                  case "getTestMethod" -> Optional.of(testClass.getDeclaredMethod(test));
                  default -> throw new AssertionError(method);
                });
  }

  @Test
  void isLeftToOtherEnvironmentsIfItNeedsMore() throws Exception {
    ExtensionContext ofKernel = contextOf(OnDevices.class, "runsOnKernel");
    try (SoftNetwork network = SoftNetwork.create()) {
      network.addDevice("soft0", InetAddress.getByName("192.0.2.1"));
      var left = network.call(() -> condition.evaluateExecutionCondition(ofKernel));
      assertTrue(left.isDisabled());
      assertEquals(
          "needs devices of the kernel, with network interfaces", left.getReason().orElseThrow());
      assertFalse(network.call(() -> condition.evaluateExecutionCondition(context)).isDisabled());
    }
  }

  @Test
  void testsForNoDeviceRunWithoutOne() throws Exception {
    ExtensionContext ofHost = contextOf(NeedsDeviceTest.class, "testsForNoDeviceRunWithoutOne");
    try (SoftNetwork empty = SoftNetwork.create()) {
      assertFalse(empty.call(() -> condition.evaluateExecutionCondition(ofHost)).isDisabled());
    }
  }

  @AfterEach
  void restore() {
    if (chosen == null) {
      System.clearProperty(NeedsDevice.CHOSEN);
    } else {
      System.setProperty(NeedsDevice.CHOSEN, chosen);
    }
  }

  @Test
  void isSkippedAmongAllTests() throws Exception {
    System.clearProperty(NeedsDevice.CHOSEN);
    try (SoftNetwork empty = SoftNetwork.create()) {
      assertTrue(empty.call(() -> condition.evaluateExecutionCondition(context)).isDisabled());
    }
  }

  @Test
  void failsIfItsClassWasChosen() throws Exception {
    System.setProperty(NeedsDevice.CHOSEN, "PdTest");
    try (SoftNetwork empty = SoftNetwork.create()) {
      String message =
          empty.call(
              () ->
                  assertThrows(
                          IllegalStateException.class,
                          () -> condition.evaluateExecutionCondition(context))
                      .getMessage());
      assertEquals(
          "no RDMA device: this machine has none. To run this test on software devices:"
              + " mvn test -Dtest=PdTest",
          message);
    }
  }

  @Test
  void runsOnADeviceAlsoIfChosen() throws Exception {
    System.setProperty(NeedsDevice.CHOSEN, "PdTest");
    try (SoftNetwork network = SoftNetwork.create()) {
      network.addDevice("soft0", InetAddress.getByName("192.0.2.1"));
      assertFalse(network.call(() -> condition.evaluateExecutionCondition(context)).isDisabled());
    }
  }

  /** Of -Dtest, and of the run of all device tests in mvn verify. */
  @Test
  void bothRunsOnSoftwareDevicesHaveTheSameVariables() throws Exception {
    Map<String, String> ofProfile = variables("pom.xml", "<(VERBENA_\\w+)>(.*?)</");
    assertEquals("2", ofProfile.get("VERBENA_SOFT"), "are found");
    assertEquals(
        ofProfile, variables("src/build/SoftDevices.java", "\"(VERBENA_\\w+)\", \"(.*?)\""));
  }

  private static Map<String, String> variables(String file, String pattern) throws IOException {
    return Pattern.compile(pattern)
        .matcher(Files.readString(Path.of(file)))
        .results()
        .collect(toMap(found -> found.group(1), found -> found.group(2)));
  }

  @Test
  void aFailureNamesTheEnvironment() throws Exception {
    PrintStream before = System.err;
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    System.setErr(new PrintStream(printed, true, StandardCharsets.UTF_8));
    try (SoftNetwork network = SoftNetwork.create()) {
      network.addDevice("soft0", InetAddress.getByName("192.0.2.1"));
      network.call(
          () -> {
            condition.testFailed(context, new AssertionError());
            return null;
          });
    } finally {
      System.setErr(before);
    }
    String line = printed.toString(StandardCharsets.UTF_8);
    assertTrue(line.startsWith("failed on software devices"), line);
    assertTrue(line.contains(": OnDevices.runs"), line);
  }

  /** Is described above, and run by nobody. */
  abstract static class OnDevices {
    @DeviceTest
    void runs() {}

    @DeviceTest
    @Needs(Need.KERNEL)
    void runsOnKernel() {}
  }
}
