package dev.verbena.simulated;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.soft.Simulation;
import java.time.Duration;
import java.util.function.BooleanSupplier;

/** The longest time of a scenario: one that hangs while others poll would go on for a day. */
final class ScenarioLimit {
  private static final Duration LOOK = Duration.ofSeconds(10);

  private ScenarioLimit() {}

  /** Fails the run unless it is over before the limit. */
  static void start(Simulation simulation, Duration limit, BooleanSupplier isOver) {
    Duration end = simulation.now().plus(limit);
    Thread _ =
        simulation.actor(
            "limit",
            () -> {
              while (!isOver.getAsBoolean()) {
                Simulation.sleep(LOOK);
                assertTrue(simulation.now().compareTo(end) < 0, () -> "not over after " + limit);
              }
            });
  }
}
