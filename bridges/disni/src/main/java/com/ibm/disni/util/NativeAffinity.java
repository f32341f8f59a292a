package com.ibm.disni.util;

import dev.verbena.disni.Replacement;
import dev.verbena.disni.ThreadAffinity;

/** Stands before DiSNI's class of the same name, which loads the JNI library. */
@Replacement
public class NativeAffinity {
  /** DiSNI's class can be instantiated. */
  public NativeAffinity() {}

  /**
   * Lets the calling thread run on some of the first 64 processors only: {@code sched_setaffinity}.
   * A failure is logged: the thread runs on, wherever it may.
   *
   * @param affinity bit n for processor n; no effect if it is not positive
   */
  public static void setAffinity(long affinity) {
    if (affinity > 0) {
      ThreadAffinity.set(affinity);
    }
  }

  /**
   * Returns the processors that the calling thread may run on: {@code sched_getaffinity}.
   *
   * @return bit n for processor n of the first 64; all bits if the system does not tell
   */
  public static long getAffinity() {
    return ThreadAffinity.get();
  }
}
