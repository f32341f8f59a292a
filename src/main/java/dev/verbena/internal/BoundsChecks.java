package dev.verbena.internal;

/**
 * The checks of every operation of the data path.
 *
 * <p>{@code -Ddev.verbena.checks=false} disables them, for programs that are proven to be correct:
 * a wrong index, a closed object or an SGE outside its region then reaches C, and closing a queue
 * does not wait for a post or a poll that is in progress.
 */
public final class BoundsChecks {
  public static final boolean ON = !"false".equals(System.getProperty("dev.verbena.checks"));

  private BoundsChecks() {}
}
