package dev.verbena;

import java.util.Arrays;

/** An enum constant for one bit of a C mask, such as one of {@code enum ibv_access_flags}. */
public interface NativeFlag {
  /** {@return the bit of the flag in C} */
  long bit();

  /**
   * {@return the mask of flags}
   *
   * @param flags the flags
   */
  static long mask(Iterable<? extends NativeFlag> flags) {
    long mask = 0;
    for (NativeFlag flag : flags) {
      mask |= flag.bit();
    }
    return mask;
  }

  /**
   * {@return the mask of flags}
   *
   * @param flags the flags
   */
  static long mask(NativeFlag... flags) {
    return mask(Arrays.asList(flags));
  }
}
