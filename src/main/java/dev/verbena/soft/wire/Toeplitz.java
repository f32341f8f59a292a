package dev.verbena.soft.wire;

import java.nio.ByteBuffer;

/** The Toeplitz hash of receive side scaling (RSS). */
public final class Toeplitz {
  public static final int KEY = 40;

  private final byte[] key;

  public Toeplitz(byte[] key) {
    this.key = key.clone();
  }

  /** The hash of the first bytes of an array, at most 36. */
  public int hash(byte[] input, int length) {
    int hash = 0;
    int window = ByteBuffer.wrap(key).getInt();
    for (int i = 0; i < length; i++) {
      int next = key[i + Integer.BYTES];
      for (int bit = Byte.SIZE - 1; bit >= 0; bit--) {
        if ((input[i] >>> bit & 1) != 0) {
          hash ^= window;
        }
        window = (window << 1) | (next >>> bit & 1);
      }
    }
    return hash;
  }
}
