package dev.verbena.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.testing.ExportedPackages;
import dev.verbena.testing.GeneratedFile;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.spi.ToolProvider;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The public API is the one of src/build/public-api.txt, so that a change of it is seen in review.
 */
@Tag("host")
class PublicApiTest {
  private static final Path LIST = Path.of("src/build/public-api.txt");

  @Test
  @Tag(GeneratedFile.TAG)
  void theListIsThePublicApi() throws Exception {
    GeneratedFile.check(LIST, String.join("", listings().values()));
  }

  /** The listing of each public class, by its name. */
  private static Map<String, String> listings() throws Exception {
    Path classes = ExportedPackages.classes();
    Map<String, String> listings = new TreeMap<>();
    for (Class<?> type : ExportedPackages.publicClasses()) {
      String name = type.getName().replace('.', '/');
      listings.put(name, listing(classes.resolve(name + ".class")));
    }
    return listings;
  }

  /** What javap tells of a class; members in alphabetical order. */
  private static String listing(Path file) throws IOException {
    StringWriter written = new StringWriter();
    PrintWriter out = new PrintWriter(written);
    int status =
        ToolProvider.findFirst("javap").orElseThrow().run(out, out, "-protected", file.toString());
    assertEquals(0, status, written::toString);
    List<String> lines = new ArrayList<>(written.toString().lines().toList());
    lines.removeIf(line -> line.startsWith("Compiled from"));
    lines.removeIf(line -> line.matches("  .*dev\\.verbena\\.internal\\..*")); // Hidden members.
    List<String> members = lines.subList(1, lines.size() - 1);
    members.sort(null);
    return String.join("\n", lines) + "\n";
  }
}
