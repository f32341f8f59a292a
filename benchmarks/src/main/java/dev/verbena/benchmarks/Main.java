package dev.verbena.benchmarks;

/** Placeholder while the loops are tuned. */
public final class Main {
  private Main() {}

  public static void main(String[] args) throws Exception {
    org.openjdk.jmh.Main.main(args);
  }
}
