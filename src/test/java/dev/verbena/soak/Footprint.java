package dev.verbena.soak;

import dev.verbena.testing.RdmaResources;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ForkJoinWorkerThread;
import java.util.stream.Stream;

/**
 * What this process has of the system at one moment.
 *
 * @param descriptors how many file descriptors
 * @param threads how many threads of Java, but those of pools, such as the carriers of virtual
 *     threads, which come and go
 * @param kibibytes resident memory
 * @param kernelObjects what {@code rdma resource} lists
 */
record Footprint(int descriptors, int threads, long kibibytes, Map<String, Integer> kernelObjects) {

  static Footprint now() throws IOException {
    System.gc();
    return new Footprint(
        entries("/proc/self/fd"), threadsOfProgram(), residentKibibytes(), RdmaResources.now());
  }

  private static int threadsOfProgram() {
    return (int)
        Thread.getAllStackTraces().keySet().stream()
            .filter(thread -> !(thread instanceof ForkJoinWorkerThread))
            .count();
  }

  private static int entries(String folder) throws IOException {
    try (Stream<Path> all = Files.list(Path.of(folder))) {
      return (int) all.count();
    }
  }

  private static long residentKibibytes() throws IOException {
    return Files.readAllLines(Path.of("/proc/self/status")).stream()
        .filter(line -> line.startsWith("VmRSS:"))
        .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")))
        .findFirst()
        .orElseThrow();
  }

  /** What grew since an earlier moment, although it should not have; empty if nothing. */
  String growthSince(Footprint before, long kibibytesAllowed) {
    StringBuilder growth = new StringBuilder();
    if (descriptors > before.descriptors) {
      growth.append(" descriptors ").append(before.descriptors).append(" to ").append(descriptors);
    }
    if (threads > before.threads) {
      growth.append(" threads ").append(before.threads).append(" to ").append(threads);
    }
    if (kibibytes > before.kibibytes + kibibytesAllowed) {
      growth.append(" KiB ").append(before.kibibytes).append(" to ").append(kibibytes);
    }
    if (!kernelObjects.equals(before.kernelObjects)) {
      growth.append(' ').append(before.kernelObjects).append(" to ").append(kernelObjects);
    }
    return growth.toString();
  }
}
