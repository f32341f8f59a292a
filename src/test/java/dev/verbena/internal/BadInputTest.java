package dev.verbena.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.calls.CriticalCalls;
import dev.verbena.internal.calls.ExtendedCompletionQueueCalls;
import dev.verbena.internal.calls.ExtendedQueuePairCalls;
import dev.verbena.internal.calls.NativeCompletionQueueCalls;
import dev.verbena.internal.calls.NativeQueuePairCalls;
import dev.verbena.internal.calls.NativeSharedReceiveQueueCalls;
import dev.verbena.testing.ForkedJvm;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.Verbena;
import dev.verbena.verbs.Verbena.Unsupported;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.LongConsumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What would crash the JVM, or puzzle its user, ends in a clear exception. */
class BadInputTest {
  private static final String PROPERTY = "dev.verbena.libibverbs";

  @TempDir Path folder;

  static List<LongConsumer> dataPaths() {
    return List.of(
        address -> new NativeQueuePairCalls(address, new CriticalCalls(false)),
        address -> new NativeCompletionQueueCalls(address, new CriticalCalls(false)),
        address -> new NativeSharedReceiveQueueCalls(address, new CriticalCalls(false)),
        address -> new ExtendedQueuePairCalls(address, 0),
        address -> new ExtendedCompletionQueueCalls(address, false));
  }

  @ParameterizedTest
  @MethodSource("dataPaths")
  void dataPathOfNullPointerThrows(LongConsumer path) {
    assertThrows(NullPointerException.class, () -> path.accept(0));
  }

  @Test
  void missingLibraryIsReported() {
    String output = support(folder.resolve("libibverbs.so.1"), true);
    assertTrue(output.contains("LIBRARY"), output);
    assertTrue(output.contains("ENOENT") && output.contains("-D" + PROPERTY), output);
    assertTrue(output.contains(folder.toString()), output);
  }

  @Test
  void libraryPathOfADirectoryIsReported() {
    String output = support(folder, true);
    assertTrue(output.contains("LIBRARY"), output);
  }

  @Test
  void textFileAsLibraryIsReported() throws Exception {
    Path text = Files.writeString(folder.resolve("text.so"), "no library\n");
    String output = support(text, true);
    assertTrue(output.contains("LIBRARY") && output.contains(text.toString()), output);
    assertTrue(output.contains("ELIBBAD") && output.contains("ldd"), output);
    assertFalse(output.contains("ENOENT"), output);
  }

  @ParameterizedTest
  @ValueSource(strings = {"libc.so.6", "libm.so.6"})
  void otherLibraryIsReported(String soname) {
    String output = support(Path.of(soname), true);
    assertTrue(output.contains("LIBRARY"), output);
    assertTrue(output.contains("ibv_get_device_list"), output);
    assertTrue(output.contains(soname + " does not export it"), output);
    assertTrue(output.contains("release: none"), output);
  }

  @Test
  void deniedNativeAccessIsReportedOnTheClassPath() {
    String output = support(null, false);
    assertTrue(output.contains("NATIVE_ACCESS"), output);
    assertTrue(output.contains("--enable-native-access=ALL-UNNAMED"), output);
    assertTrue(output.contains("list: IllegalCallerException"), output);
  }

  @Test
  void deniedNativeAccessIsReportedOnTheModulePath() {
    String output = denied(new ForkedJvm().asModule()).run(AskSupport.class).succeeded();
    assertTrue(output.contains("NATIVE_ACCESS"), output);
    assertTrue(output.contains("--enable-native-access=dev.verbena"), output);
  }

  @ParameterizedTest
  @ValueSource(strings = {"2", "udp:127.0.0.1", "no device"})
  void deniedNativeAccessIsReportedWithSoftwareDevices(String devices) {
    for (ForkedJvm jvm : List.of(new ForkedJvm(), new ForkedJvm().asModule())) {
      String output =
          denied(jvm.with("-Ddev.verbena.soft=" + devices)).run(AskSupport.class).succeeded();
      assertTrue(output.contains("supported: false"), output);
      assertTrue(output.contains("reason: NATIVE_ACCESS"), output);
      assertTrue(output.contains("list: IllegalCallerException"), output);
    }
  }

  @Test
  void enabledNativeAccessWorksOnTheModulePath() {
    String output = new ForkedJvm().asModule().withNativeAccess().run(AskSupport.class).succeeded();
    assertTrue(!output.contains("NATIVE_ACCESS") && !output.contains("WARNING"), output);
  }

  @Test
  void otherOperatingSystemIsUnsupported() {
    String output =
        new ForkedJvm()
            .with("-Dos.name=Windows 11", "-Ddev.verbena.soft=0")
            .run(AskSupport.class)
            .succeeded();
    assertTrue(output.contains("OPERATING_SYSTEM"), output);
    assertTrue(output.contains("Windows 11"), output);
    assertTrue(output.contains("list: UnsupportedOperationException"), output);
  }

  @Test
  void errnoZeroIsNoSuccess() {
    var e = (VerbsException) ErrorConvention.NULL.failure("ibv_open_device", 0, 0);
    assertEquals(Errno.EIO, e.errno());
  }

  private static String support(Path library, boolean access) {
    ForkedJvm jvm = new ForkedJvm();
    if (library != null) {
      jvm.with("-D" + PROPERTY + "=" + library);
    }
    return (access ? jvm.withNativeAccess() : denied(jvm)).run(AskSupport.class).succeeded();
  }

  /** Before JDK 24, access given to one module denies it to the others. */
  static ForkedJvm denied(ForkedJvm jvm) {
    return Runtime.version().feature() >= 24
        ? jvm.with("--illegal-native-access=deny")
        : jvm.with("--enable-native-access=java.logging");
  }

  /** Prints what is missing, as an application would. */
  static final class AskSupport {
    private AskSupport() {}

    public static void main(String[] args) {
      System.out.println("supported: " + Verbena.isSupported());
      Verbena.unsupportedReason()
          .map(Unsupported::reason)
          .ifPresent(reason -> System.out.println("reason: " + reason));
      System.out.println(Verbena.unsupportedReason().map(Unsupported::explanation).orElse(""));
      System.out.println("release: " + Verbena.rdmaCoreRelease().orElse("none"));
      try {
        System.out.println("list: " + Device.list());
      } catch (RuntimeException e) {
        System.out.println("list: " + e.getClass().getSimpleName() + ": " + e.getMessage());
      }
    }
  }
}
