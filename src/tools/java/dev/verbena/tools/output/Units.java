package dev.verbena.tools.output;

import java.util.Locale;

/** Formats numbers with units. */
public final class Units {
  private static final String[] BYTES = {"B", "KiB", "MiB", "GiB", "TiB"};

  private Units() {}

  public static String bytes(long bytes) {
    double value = bytes;
    int unit = 0;
    while (value >= 1024 && unit < BYTES.length - 1) {
      value /= 1024;
      unit++;
    }
    return value == Math.rint(value)
        ? (long) value + " " + BYTES[unit]
        : String.format(Locale.ROOT, "%.1f %s", value, BYTES[unit]);
  }
}
