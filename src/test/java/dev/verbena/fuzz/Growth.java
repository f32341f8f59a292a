package dev.verbena.fuzz;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** The file descriptors and threads of this process after each round: a leak shows as growth. */
final class Growth {
  /** Rounds that start the threads of the process, which stay. */
  private static final int FIRST = 2;

  private static final int TOLERATED = 64;

  private record Count(int descriptors, int threads) {
    static Count now() {
      try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
        return new Count(
            (int) descriptors.count(), ManagementFactory.getThreadMXBean().getThreadCount());
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    boolean isFarAbove(Count other) {
      return descriptors > other.descriptors + TOLERATED || threads > other.threads + TOLERATED;
    }

    @Override
    public String toString() {
      return descriptors + " descriptors, " + threads + " threads";
    }
  }

  private int rounds;
  private Count first;

  /** Counts after a round; fails if there is far more than after the first rounds. */
  String afterRound() {
    Count now = Count.now();
    rounds++;
    if (rounds <= FIRST) {
      first = now;
    } else if (now.isFarAbove(first)) {
      throw new AssertionError(now + "; after the first rounds " + first);
    }
    return now.toString();
  }
}
