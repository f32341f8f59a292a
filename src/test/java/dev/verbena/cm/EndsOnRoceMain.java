package dev.verbena.cm;

import dev.verbena.cm.Ends.Place;

/**
 * Runs a row of the table of the ends of connections on devices that are not usable afterwards.
 * Argument: the row.
 */
final class EndsOnRoceMain {
  private EndsOnRoceMain() {}

  public static void main(String[] args) throws Exception {
    EndOfConnection row = EndOfConnection.valueOf(args[0]);
    try (Ends ends = new EndsOnRoce(row.settings(Place.ROCE))) {
      row.check(ends);
    }
  }
}
