package dev.verbena.internal.foreign;

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

  @SuppressWarnings({"CanBeFinal", "FieldMayBeFinal"}) // Else compilers would leave out its use.
  private static boolean neverSet;

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
  public static void requireForCall() {
    if (callsComeBack) {
      long _ = descend(LEVELS_OF_CALL, VALUES);
    }
  }

  /** Checks half of it, so as not to fail at the depth of an earlier {@link #requireForCall}. */
  public static void requireForEnd() {
    if (callsComeBack) {
      long _ = descend(LEVELS_OF_CALL / 2, VALUES);
    }
  }

  /**
   * Throws the error unless there is space for a few calls, so that a section that must not end
   * halfway, as that of a lock, does not. Costs nothing in compiled code.
   *
   * <p>HotSpot touches the end of a frame that is larger than a page when the method is entered.
   * The interpreter's frame has all variables that are declared; compiled code, which touches at
   * the entry of the method that this one is inlined into, counts the interpreter's frames.
   *
   * @throws StackOverflowError if the stack is nearly full
   */
  @SuppressWarnings("unused")
  public static void requireForSection() {
    if (neverSet) {
      throw new StackOverflowError(); // Otherwise compiled code has no frame.
    }
    long a0, b0, c0, d0, e0, f0, g0, h0, i0, j0, k0, l0, m0, n0, o0, p0, q0, r0, s0, t0, u0, v0;
    long a1, b1, c1, d1, e1, f1, g1, h1, i1, j1, k1, l1, m1, n1, o1, p1, q1, r1, s1, t1, u1, v1;
    long a2, b2, c2, d2, e2, f2, g2, h2, i2, j2, k2, l2, m2, n2, o2, p2, q2, r2, s2, t2, u2, v2;
    long a3, b3, c3, d3, e3, f3, g3, h3, i3, j3, k3, l3, m3, n3, o3, p3, q3, r3, s3, t3, u3, v3;
    long a4, b4, c4, d4, e4, f4, g4, h4, i4, j4, k4, l4, m4, n4, o4, p4, q4, r4, s4, t4, u4, v4;
    long a5, b5, c5, d5, e5, f5, g5, h5, i5, j5, k5, l5, m5, n5, o5, p5, q5, r5, s5, t5, u5, v5;
    long a6, b6, c6, d6, e6, f6, g6, h6, i6, j6, k6, l6, m6, n6, o6, p6, q6, r6, s6, t6, u6, v6;
    long a7, b7, c7, d7, e7, f7, g7, h7, i7, j7, k7, l7, m7, n7, o7, p7, q7, r7, s7, t7, u7, v7;
    long a8, b8, c8, d8, e8, f8, g8, h8, i8, j8, k8, l8, m8, n8, o8, p8, q8, r8, s8, t8, u8, v8;
    long a9, b9, c9, d9, e9, f9, g9, h9, i9, j9, k9, l9, m9, n9, o9, p9, q9, r9, s9, t9, u9, v9;
    long aA, bA, cA, dA, eA, fA, gA, hA, iA, jA, kA, lA, mA, nA, oA, pA, qA, rA, sA, tA, uA, vA;
    long aB, bB, cB, dB, eB, fB, gB, hB, iB, jB, kB, lB, mB, nB, oB, pB, qB, rB, sB, tB, uB, vB;
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
