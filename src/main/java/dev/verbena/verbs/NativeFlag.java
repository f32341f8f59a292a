package dev.verbena.verbs;

/** An enum constant for one bit of a C mask, such as one of {@code enum ibv_access_flags}. */
public interface NativeFlag {
  /**
   * Returns the bit of the flag in C.
   *
   * @return a mask with one bit
   */
  long bit();
}
