package dev.verbena.docs;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * A source file of the project, with one class that is not nested.
 *
 * @param root the folder of the packages
 * @param type the name of the class with its package
 */
record SourceFile(Path root, String type, String text) {
  private static final Path MAIN = Path.of("src/main/java");
  private static final List<Path> ROOTS =
      List.of(
          MAIN,
          Path.of("src/tools/java"),
          Path.of("src/test/java"),
          Path.of("benchmarks/src/main/java"),
          Path.of("stress/src/main/java"));

  /** All but descriptors of packages and modules, and what jextract wrote. */
  static List<SourceFile> all() {
    return ROOTS.stream().filter(Files::isDirectory).flatMap(SourceFile::in).toList();
  }

  private static Stream<SourceFile> in(Path root) {
    try (Stream<Path> files = Files.walk(root)) {
      return files
          .filter(file -> file.toString().endsWith(".java"))
          .filter(file -> !file.getFileName().toString().contains("-info"))
          .filter(file -> !file.startsWith(MAIN.resolve("dev/verbena/raw")))
          .map(file -> read(root, file))
          .toList()
          .stream();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static SourceFile read(Path root, Path file) {
    String path = root.relativize(file).toString();
    String type = path.substring(0, path.lastIndexOf('.')).replace('/', '.');
    try {
      return new SourceFile(root, type, Files.readString(file));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  String packageName() {
    return type.substring(0, type.lastIndexOf('.'));
  }

  String simpleName() {
    return type.substring(type.lastIndexOf('.') + 1);
  }

  int lines() {
    return (int) text.lines().count();
  }

  boolean isTools() {
    return type.startsWith("dev.verbena.tools.") && !root.endsWith("test/java");
  }

  boolean isLibrary() {
    return root.equals(MAIN) && !isTools();
  }

  boolean isByHand() {
    return !text.contains("NativeFunctionsTest generates this class");
  }

  boolean isPublic() {
    return text.matches(
        "(?s).*\npublic [a-z @-]*(class|interface|record|enum) " + simpleName() + "\\b.*");
  }
}
