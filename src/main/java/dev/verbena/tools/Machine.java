package dev.verbena.tools;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** What the kernel's files say of this machine, or of a picture of one below another root. */
record Machine(Path root) {
  /** This machine. */
  static final Machine THIS = new Machine(Path.of("/"));

  Path path(String path) {
    return root.resolve(path.substring(1));
  }

  boolean has(String path) {
    return Files.exists(path(path));
  }

  /** The lines of a file; none if it cannot be read. */
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

  /** The names in a folder, sorted; none if there is no such folder. */
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
