package dev.verbena.verbs;

import java.util.Arrays;

/** Conversion of sets of enum constants to C masks. */
final class Flags {
  private Flags() {}

  static long mask(Iterable<? extends NativeFlag> flags) {
    long mask = 0;
    for (NativeFlag flag : flags) {
      mask |= flag.bit();
    }
    return mask;
  }

  static long mask(NativeFlag... flags) {
    return mask(Arrays.asList(flags));
  }
}
