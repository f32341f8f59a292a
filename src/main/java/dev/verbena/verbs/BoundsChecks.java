package dev.verbena.verbs;

/**
 * The checks that every operation of the data path makes.
 *
 * <p>{@code -Ddev.verbena.checks=false} turns them off, for programs that have proved themselves: a
 * wrong index, a closed object or an entry outside its region then reaches C.
 */
final class BoundsChecks {
  static final boolean ON = !"false".equals(System.getProperty("dev.verbena.checks"));

  private BoundsChecks() {}
}
