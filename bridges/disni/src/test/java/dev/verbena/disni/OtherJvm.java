package dev.verbena.disni;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.ibm.disni.verbs.IbvWC;
import dev.verbena.verbs.Verbena;
import java.io.File;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Programs of the tests in a JVM of their own, and the class path of each part. */
final class OtherJvm {
  private OtherJvm() {}

  static String own() {
    return location(DisniProvider.class);
  }

  static String tests() {
    return location(OtherJvm.class);
  }

  /** The folder of classes, or the jar, and where generated classes may be beside it. */
  static String library() {
    return location(Verbena.class) + File.pathSeparator + location(dev.verbena.raw.ibv_wc.class);
  }

  static String disni() {
    return location(IbvWC.class);
  }

  static String logging() {
    return location(org.slf4j.Logger.class);
  }

  static String location(Class<?> type) {
    try {
      return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI()).toString();
    } catch (URISyntaxException e) {
      throw new AssertionError(e);
    }
  }

  /** Runs a program, which must end with a status; the result is what it printed. */
  static String run(
      int status, List<String> options, List<String> path, Class<?> main, String... arguments)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-Ddev.verbena.soft=1=192.0.2.1"));
    command.addAll(options);
    command.addAll(List.of("-cp", String.join(File.pathSeparator, path), main.getName()));
    command.addAll(List.of(arguments));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    process.getOutputStream().close();
    String output =
        new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
    // slf4j says that it has no implementation, and the library logs in two lines that it has a
    // software device.
    String own =
        String.join(
            "\n",
            output
                .lines()
                .filter(
                    line ->
                        !line.startsWith("SLF4J")
                            && !line.startsWith("INFO: software devices")
                            && !line.endsWith(" provider"))
                .toList());
    assertEquals(status, process.waitFor(), output);
    return own;
  }
}
