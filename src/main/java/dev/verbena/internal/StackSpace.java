package dev.verbena.internal;

/**
 * A check that the stack of this thread has space for a call of C and for what follows it in Java.
 * A {@link StackOverflowError} after C has created or destroyed an object, and before Java has
 * stored that, would leak the object or destroy it twice. So it is thrown before.
 *
 * <p>Between a call and the Java method that it comes back to, the error would end the JVM.
 */
public final class StackSpace {
  /** Each takes 150 bytes of the stack in code of C2 and 400 when interpreted: 30 KB or more. */
  private static final int LEVELS = 200;

  /** For the data path of a software device, which needs 20 of them to post or to poll. */
  private static final int LEVELS_OF_CALL = 30;

  private static final long[] VALUES = new long[16];

  /** Whether calls of C may come back to Java: not without a software device. */
  private static boolean callsComeBack;

  private StackSpace() {}

  /** Records that there are pointers to Java methods. */
  static void callsComeBack() {
    callsComeBack = true;
  }

  /**
   * Throws the error if the stack is nearly full.
   *
   * @throws StackOverflowError if it is
   */
  public static void require() {
    long _ = descend(LEVELS, VALUES);
  }

  /**
   * Throws the error unless there is space for a call of the data path that may come back to Java,
   * where no exception could be converted to a result.
   */
  static void requireForCall() {
    if (callsComeBack) {
      long _ = descend(LEVELS_OF_CALL, VALUES);
    }
  }

  /** Checks half of it, so as not to fail at the depth of an earlier {@link #requireForCall}. */
  static void requireForEnd() {
    if (callsComeBack) {
      long _ = descend(LEVELS_OF_CALL / 2, VALUES);
    }
  }

  /** Calls itself. The values that are used after the call are on the stack during it. */
  private static long descend(int levels, long[] v) {
    long a = v[0];
    long b = v[1];
    long c = v[2];
    long d = v[3];
    long e = v[4];
    long f = v[5];
    long g = v[6];
    long h = v[7];
    long i = v[8];
    long j = v[9];
    long k = v[10];
    long l = v[11];
    long m = v[12];
    long n = v[13];
    long o = v[14];
    long below = levels == 0 ? 0 : descend(levels - 1, v);
    v[15] = below;
    return below ^ a ^ b ^ c ^ d ^ e ^ f ^ g ^ h ^ i ^ j ^ k ^ l ^ m ^ n ^ o;
  }
}
