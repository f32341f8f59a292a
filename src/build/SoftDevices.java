import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Runs the device tests on two software devices. */
final class SoftDevices {
  private static final Map<String, String> DEVICES =
      Map.of(
          "VERBENA_SOFT", "2",
          "VERBENA_DEVICE_A", "soft0",
          "VERBENA_DEVICE_B", "soft1",
          "VERBENA_ADDRESS_A", "192.0.2.1",
          "VERBENA_ADDRESS_B", "192.0.2.2",
          "VERBENA_ADDRESS6_A", "2001:db8::1",
          "VERBENA_ADDRESS6_B", "2001:db8::2");

  private SoftDevices() {}

  /**
   * Takes the class path of the tests, the folder or jar of the tests, a folder for reports,
   * options of the JVM, and classes of tests to run instead of all.
   */
  public static void main(String[] args) throws IOException, InterruptedException {
    Path log = Files.createDirectories(Path.of(args[2])).resolve("log");
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("--add-modules=jdk.management,java.logging,java.xml,jdk.compiler,jdk.jfr");
    command.add("--enable-native-access=ALL-UNNAMED");
    List<String> rest = Arrays.asList(args).subList(3, args.length);
    command.addAll(rest.stream().filter(word -> word.startsWith("-")).toList());
    command.addAll(List.of("-cp", args[0], "dev.verbena.lab.LabMain", args[1], args[2]));
    command.addAll(rest.stream().filter(word -> !word.startsWith("-")).toList());
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .directory(new File("."))
            .inheritIO()
            .redirectError(log.toFile());
    builder.environment().putAll(DEVICES);
    int status = builder.start().waitFor();
    if (status != 0) {
      System.out.println("exit status " + status + "; what was logged: " + log);
    }
    System.exit(status);
  }
}
