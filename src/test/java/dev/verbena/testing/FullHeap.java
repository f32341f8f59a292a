package dev.verbena.testing;

/** Fills the Java heap, in a JVM with a small one. */
public final class FullHeap {
  private static Object[] all;

  private FullHeap() {}

  /** Fills the heap: no object can be allocated any more. */
  public static void fill() {
    for (int size = 1 << 20; size >= 16; size /= 2) {
      try {
        while (true) {
          all = new Object[] {all, new byte[size]};
        }
      } catch (OutOfMemoryError e) {
        // Smaller pieces.
      }
    }
  }

  /** Frees what filled it. */
  public static void free() {
    all = null;
  }
}
