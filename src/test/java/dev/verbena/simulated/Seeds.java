package dev.verbena.simulated;

/** How many seeds a scenario is run with. */
final class Seeds {
  private Seeds() {}

  /**
   * Returns the number of seeds of a scenario in the quick test command, times the system property
   * {@code dev.verbena.simulation.seeds}, for the runs of a night.
   */
  static int of(int quick) {
    return Math.multiplyExact(quick, Integer.getInteger("dev.verbena.simulation.seeds", 1));
  }
}
