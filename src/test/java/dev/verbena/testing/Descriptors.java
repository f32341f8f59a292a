package dev.verbena.testing;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** The file descriptors of this process, for tests that look for what is left behind. */
public final class Descriptors {
  private Descriptors() {}

  /**
   * What the descriptors lead to that are of devices, of channels, or of the connection manager.
   */
  public static List<String> ofRdma() throws IOException {
    return leadingTo("infiniband");
  }

  /** Returns the number of open descriptors of a file, whose path is real. */
  public static int of(Path file) throws IOException {
    return leadingTo(file.toString()).size();
  }

  private static List<String> leadingTo(String part) throws IOException {
    try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
      return all.map(Descriptors::target).filter(t -> t.contains(part)).sorted().toList();
    }
  }

  /** Returns the number of all open file descriptors of this process. */
  public static long count() throws IOException {
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

  /** The descriptor of a new file in memory, which the emulated NICs take for a DMA buffer. */
  public static int memoryFile(long size) {
    Linker linker = Linker.nativeLinker();
    try (Arena arena = Arena.ofConfined()) {
      var create =
          linker.downcallHandle(
              linker.defaultLookup().find("memfd_create").orElseThrow(),
              FunctionDescriptor.of(
                  ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.JAVA_INT));
      var truncate =
          linker.downcallHandle(
              linker.defaultLookup().find("ftruncate").orElseThrow(),
              FunctionDescriptor.of(
                  ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG));
      int file = (int) create.invokeExact(arena.allocateFrom("buffer"), 0);
      if ((int) truncate.invokeExact(file, size) != 0) {
        throw new IllegalStateException("ftruncate failed");
      }
      return file;
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }
}
