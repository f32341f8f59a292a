import com.google.googlejavaformat.java.Main;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * Checks the format of all hand-written sources, or mends it.
 *
 * <p>Run by the build: {@code mvn verify} checks, {@code mvn validate -Dformat=write} mends.
 */
final class Format {
  private static final Path GENERATED = Path.of("src/main/java/dev/verbena/raw");

  private Format() {}

  public static void main(String[] args) throws IOException {
    List<String> arguments =
        new ArrayList<>(
            args[0].equals("write")
                ? List.of("--replace")
                : List.of("--dry-run", "--set-exit-if-changed"));
    for (String root : List.of("src", "benchmarks/src", "bridges", "examples")) {
      if (Files.isDirectory(Path.of(root))) {
        try (Stream<Path> files = Files.walk(Path.of(root))) {
          files
              .filter(file -> file.toString().endsWith(".java") && !file.startsWith(GENERATED))
              .map(Path::toString)
              .sorted()
              .forEach(arguments::add);
        }
      }
    }

    Main.main(arguments.toArray(String[]::new));
  }
}
