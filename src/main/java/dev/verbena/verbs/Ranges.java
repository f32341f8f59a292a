package dev.verbena.verbs;

/** Checks numbers that C would silently cut to the width of a field. */
final class Ranges {
  private Ranges() {}

  /**
   * Checks that an unsigned number fits into a number of bits.
   *
   * @return the number
   * @throws IllegalArgumentException naming what it is
   */
  static int bits(int value, int bits, String what) {
    if (value < 0 || value >>> bits != 0) {
      throw new IllegalArgumentException(
          what + " is 0 to " + ((1 << bits) - 1) + ", not " + Integer.toUnsignedString(value));
    }
    return value;
  }

  /**
   * Checks a port number.
   *
   * @return the number
   * @throws IllegalArgumentException if it is 0 or does not fit a byte
   */
  static int port(int port) {
    if (port < 1 || port > 255) {
      throw new IllegalArgumentException("ports are numbered from 1 to 255, not " + port);
    }
    return port;
  }
}
