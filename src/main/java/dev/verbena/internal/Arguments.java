package dev.verbena.internal;

/** Checks of numbers that C would truncate. */
public final class Arguments {
  private Arguments() {}

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
}
