package dev.verbena.messages;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * What a server, and the process in which its clients are too, has at one moment.
 *
 * @param clients how many clients have a place
 * @param descriptors how many file descriptors, but for those of files
 * @param threads how many threads of the library, see {@link LiveThreads}
 * @param heap bytes in use
 * @param resident the line with the resident memory
 */
record SoakFootprint(int clients, long descriptors, long threads, long heap, String resident) {
  static SoakFootprint of(RequestServer server, long threads) {
    System.gc();
    Runtime runtime = Runtime.getRuntime();
    long heap = runtime.totalMemory() - runtime.freeMemory();
    try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"));
        Stream<String> status = Files.lines(Path.of("/proc/self/status"))) {
      return new SoakFootprint(
          server.clients(),
          descriptors.filter(SoakFootprint::isOfDevices).count(),
          threads,
          heap,
          status.filter(line -> line.startsWith("VmRSS")).findFirst().orElseThrow());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The JVM opens files when it needs them first. */
  private static boolean isOfDevices(Path descriptor) {
    try {
      return !Files.readSymbolicLink(descriptor).startsWith("/");
    } catch (IOException e) {
      return false; // That of the list, which is closed.
    }
  }

  /** Whether something remained that the clients had; memory has free parts. */
  boolean isMoreThan(SoakFootprint before) {
    return clients > before.clients || descriptors > before.descriptors || threads > before.threads;
  }

  @Override
  public String toString() {
    return "%d clients, %d threads, %d file descriptors, heap %d MiB, %s"
        .formatted(clients, threads, descriptors, heap >> 20, resident);
  }
}
