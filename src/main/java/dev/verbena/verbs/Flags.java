package dev.verbena.verbs;

import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

/** Conversion between sets of enum constants and C masks. */
final class Flags {
  private Flags() {}

  /** An enum constant for one bit of a C mask. */
  interface Flag {
    /** Returns the bit. */
    long bit();
  }

  static long mask(Iterable<? extends Flag> flags) {
    long mask = 0;
    for (Flag flag : flags) {
      mask |= flag.bit();
    }
    return mask;
  }

  static long mask(Flag... flags) {
    return mask(Arrays.asList(flags));
  }

  /** Returns the flags whose bits are set. Bits that are unknown are logged once each. */
  static <E extends Enum<E> & Flag> Set<E> of(Class<E> type, long mask) {
    EnumSet<E> set = EnumSet.noneOf(type);
    long unknown = mask;
    for (E flag : type.getEnumConstants()) {
      if ((mask & flag.bit()) != 0) {
        set.add(flag);
        unknown &= ~flag.bit();
      }
    }
    if (unknown != 0) {
      Codes.reportUnknownBits(type, unknown);
    }
    return Collections.unmodifiableSet(set);
  }
}
