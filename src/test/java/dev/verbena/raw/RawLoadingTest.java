package dev.verbena.raw;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/** Constants and structs are of use where neither library is installed. */
class RawLoadingTest {
  @Test
  @EnabledOnOs(value = OS.LINUX, disabledReason = "only Linux tells what a process has mapped")
  void constantsAndStructsLoadNoLibrary() throws Exception {
    // A JVM of its own: in this one another test may have loaded the libraries.
    Process jvm =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                classPath(),
                UseAll.class.getName())
            .redirectErrorStream(true)
            .start();
    String output = new String(jvm.getInputStream().readAllBytes(), UTF_8);
    assertEquals(0, jvm.waitFor(), output);
    assertEquals("loaded: []", output.strip());
  }

  private static String classPath() throws Exception {
    Path main = folder(rdma_h.class);
    Path test = folder(RawLoadingTest.class);
    return main + System.getProperty("path.separator") + test;
  }

  private static Path folder(Class<?> type) throws Exception {
    return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
  }

  /** Initialises all of raw but the functions, and prints which RDMA libraries that mapped. */
  static final class UseAll {
    private UseAll() {}

    public static void main(String[] args) throws Exception {
      RawTypes.structs().forEach(RawTypes::layout);
      RawTypes.constants();
      List<String> loaded =
          Files.readAllLines(Path.of("/proc/self/maps")).stream()
              .filter(line -> line.contains("libibverbs") || line.contains("librdmacm"))
              .toList();
      System.out.println("loaded: " + loaded);
    }
  }
}
