package dev.verbena.tools;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** The kernel's files of this host, or of another root directory in tests. */
record Machine(Path root) {
  /** This host. */
  static final Machine THIS = new Machine(Path.of("/"));

  /** Whether this JVM runs on Linux: elsewhere there are software devices of one JVM only. */
  static boolean isLinux() {
    return System.getProperty("os.name", "").equals("Linux");
  }

  Path path(String path) {
    return root.resolve(path.substring(1));
  }

  boolean has(String path) {
    return Files.exists(path(path));
  }

  /** Returns the lines of a file; none if it cannot be read. */
  List<String> lines(String path) {
    try {
      return Files.readAllLines(path(path));
    } catch (IOException e) {
      return List.of();
    }
  }

  Optional<String> firstLine(String path) {
    return lines(path).stream().findFirst();
  }

  /** Returns what follows a name and a colon in a file. */
  Optional<String> field(String path, String name) {
    return lines(path).stream()
        .filter(line -> line.startsWith(name))
        .map(line -> line.substring(line.indexOf(':') + 1).strip())
        .findFirst();
  }

  /** Returns the names in a directory, sorted; none if it does not exist. */
  List<String> names(String folder) {
    try (Stream<Path> files = Files.list(path(folder))) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    } catch (IOException e) {
      return List.of();
    }
  }

  boolean hasModule(String name) {
    return has("/sys/module/" + name);
  }
}
