import java.time.Duration;

/** Time, and the processor time of all JVMs that {@code run} has started and that are running. */
final class Cost {
  private final long start = System.nanoTime();
  private final Duration processors = processors();

  private static Duration processors() {
    return ProcessHandle.current()
        .parent()
        .orElseThrow()
        .descendants()
        .map(process -> process.info().totalCpuDuration().orElse(Duration.ZERO))
        .reduce(Duration.ZERO, Duration::plus);
  }

  /** Prints what was done since this object was created, and what it took. */
  void print(String done) {
    System.out.printf(
        "%s: %.1f s, %.1f s of processors%n",
        done, (System.nanoTime() - start) / 1e9, processors().minus(processors).toMillis() / 1e3);
  }
}
