package dev.verbena.internal;

/** A program that forgets to close something. It knows no test library. */
final class Leaks {
  private Leaks() {}

  public static void main(String[] args) throws InterruptedException {
    make("what was closed").closed();
    make("what was forgotten");
    for (int i = 0; i < 20; i++) {
      System.gc();
      Thread.sleep(50);
    }
  }

  private static LeakReport make(String description) {
    LeakReport report = new LeakReport(description);
    Object _ = report.watch(new Object());
    return report;
  }
}
