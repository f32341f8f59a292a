package dev.verbena.cm;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** The file descriptors of this process, for tests that look for what is left behind. */
final class Descriptors {
  private Descriptors() {}

  /**
   * What the descriptors lead to that are of devices, of channels, or of the connection manager.
   */
  static List<String> ofRdma() throws IOException {
    try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
      return all.map(Descriptors::target).filter(t -> t.contains("infiniband")).sorted().toList();
    }
  }

  /** Returns the number of all open file descriptors of this process. */
  static long count() throws IOException {
    try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
      return all.count();
    }
  }

  private static String target(Path link) {
    try {
      return Files.readSymbolicLink(link).toString();
    } catch (NoSuchFileException e) {
      return "closed meanwhile";
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}
