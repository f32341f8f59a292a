package dev.verbena.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.testing.GeneratedFile;
import dev.verbena.verbs.Verbena;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;
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
    Path classes = Project.location(Verbena.class);
    Map<String, String> listings = new TreeMap<>();
    Set<String> packages = Project.exports();
    packages.remove("dev.verbena.raw"); // jextract writes it
    for (String exported : packages) {
      String name = exported.replace('.', '/');
      try (Stream<Path> files = Files.list(classes.resolve(name))) {
        for (Path file : files.filter(path -> path.toString().endsWith(".class")).toList()) {
          String simple = file.getFileName().toString().replace(".class", "");
          if (!simple.equals("package-info") && isPublic(name.replace('/', '.') + "." + simple)) {
            listings.put(name + "/" + simple, listing(file));
          }
        }
      }
    }
    return listings;
  }

  /** Whether code outside can name a class: it and the classes around it are public. */
  private static boolean isPublic(String name) throws ClassNotFoundException {
    Class<?> type = Class.forName(name, false, PublicApiTest.class.getClassLoader());
    while (type != null && Modifier.isPublic(type.getModifiers())) {
      type = type.getEnclosingClass();
    }
    return type == null;
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
    List<String> members = lines.subList(1, lines.size() - 1);
    members.sort(null);
    return String.join("\n", lines) + "\n";
  }
}
