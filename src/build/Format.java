import com.google.googlejavaformat.java.GoogleJavaFormatToolProvider;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * Checks or writes the format of the hand-written sources that changed since all were formatted.
 *
 * <p>Run by the build: {@code mvn verify} checks, {@code mvn validate -Dformat=write} writes.
 */
final class Format {
  private static final Path GENERATED = Path.of("src/main/java/dev/verbena/raw");

  /** Its time is that of the last run after which all were formatted. */
  private static final Path FORMATTED = Path.of("target/formatted");

  private Format() {}

  public static void main(String[] args) throws IOException {
    FileTime start = FileTime.from(Instant.now());
    List<String> arguments =
        new ArrayList<>(
            args[0].equals("write")
                ? List.of("--replace")
                : List.of("--dry-run", "--set-exit-if-changed"));
    List<String> files = changed();
    arguments.addAll(files);
    String[] all = arguments.toArray(String[]::new);
    if (!files.isEmpty()
        && new GoogleJavaFormatToolProvider().run(System.out, System.err, all) != 0) {
      System.exit(1);
    }
    Files.createDirectories(FORMATTED.getParent());
    Files.writeString(FORMATTED, "");
    Files.setLastModifiedTime(FORMATTED, start);
  }

  private static List<String> changed() throws IOException {
    FileTime formatted =
        Files.exists(FORMATTED) ? Files.getLastModifiedTime(FORMATTED) : FileTime.fromMillis(0);
    List<String> changed = new ArrayList<>();
    for (String root : List.of("src", "benchmarks/src", "stress", "bridges", "examples")) {
      try (Stream<Path> files = Files.walk(Path.of(root))) {
        for (Path file : files.filter(path -> path.toString().endsWith(".java")).toList()) {
          if (!file.startsWith(GENERATED)
              && Files.getLastModifiedTime(file).compareTo(formatted) >= 0) {
            changed.add(file.toString());
          }
        }
      }
    }
    return changed;
  }
}
