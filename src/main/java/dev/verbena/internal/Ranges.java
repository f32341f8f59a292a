package dev.verbena.internal;

/** Range checks of values, such as those that C would truncate to the width of a field. */
public final class Ranges {
  private Ranges() {}

  /**
   * Checks that a range lies within an object.
   *
   * @param object its string has its length
   * @return the offset
   * @throws IndexOutOfBoundsException naming the object
   */
  public static long within(Object object, long offset, long size, long length) {
    if ((offset | size) < 0 || size > length - offset) {
      throw new IndexOutOfBoundsException(
          size + " bytes at offset " + offset + " are not inside " + object);
    }
    return offset;
  }

  /**
   * Checks that an unsigned value fits into a number of bits.
   *
   * @return the value
   * @throws IllegalArgumentException if it does not
   */
  public static int bits(int value, int bits, String what) {
    if (value < 0 || value >>> bits != 0) {
      throw new IllegalArgumentException(
          what + " must be 0 to " + ((1 << bits) - 1) + ": " + Integer.toUnsignedString(value));
    }
    return value;
  }

  /** Throws {@link IllegalArgumentException} unless a number is positive; returns it. */
  public static int positive(int number, String what) {
    return (int) positive((long) number, what);
  }

  /** Throws {@link IllegalArgumentException} unless a number is positive; returns it. */
  public static long positive(long number, String what) {
    if (number < 1) {
      throw new IllegalArgumentException(what + " must be positive: " + number);
    }
    return number;
  }

  /** Throws {@link IllegalArgumentException} if a number is negative; returns it. */
  public static int notNegative(int number, String what) {
    if (number < 0) {
      throw new IllegalArgumentException(what + " must not be negative: " + number);
    }
    return number;
  }

  /**
   * Checks that a number is in a range.
   *
   * @return the number
   * @throws IllegalArgumentException naming the number and its range
   */
  public static int range(String name, int value, int least, int most) {
    if (value < least || value > most) {
      throw new IllegalArgumentException(
          name + " is " + value + ", must be " + least + " to " + most);
    }
    return value;
  }

  /**
   * Checks a port number.
   *
   * @return the port number
   * @throws IllegalArgumentException if it is not 1 to 255
   */
  public static int port(int port) {
    if (port < 1 || port > 255) {
      throw new IllegalArgumentException("port number must be 1 to 255: " + port);
    }
    return port;
  }
}
