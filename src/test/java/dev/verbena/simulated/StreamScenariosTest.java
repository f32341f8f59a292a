package dev.verbena.simulated;

import dev.verbena.soft.Simulation;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;

/** Streams of bytes whose ends write, read, end and fail in an order that a seed decides. */
@Tag("host")
@EnabledForJreRange(minVersion = 24)
class StreamScenariosTest {
  @Test
  void acceptedBytesArriveBeforeTheEnd() {
    Simulation.check(
        Seeds.of(40), simulation -> StreamScenario.run(simulation, StreamScenario.Trouble.NONE));
  }

  @Test
  void callsReturnWhenAnEndIsClosedOrInterrupted() {
    Simulation.check(
        Seeds.of(40), simulation -> StreamScenario.run(simulation, StreamScenario.Trouble.ENDS));
  }

  @Test
  void callsReturnWhenAHostIsLost() {
    Simulation.check(
        Seeds.of(40), simulation -> StreamScenario.run(simulation, StreamScenario.Trouble.HOSTS));
  }
}
