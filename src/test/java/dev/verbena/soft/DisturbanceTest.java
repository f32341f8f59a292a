package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.soft.device.SoftDevice;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;

@Tag("host")
@EnabledForJreRange(minVersion = 24)
class DisturbanceTest {
  private static final Duration LIMIT = Duration.ofSeconds(1);
  private static final Duration LOOK = Duration.ofMillis(5);
  private static final String NOTHING = "";

  private static String state(SoftHosts hosts) {
    SoftNetwork network = hosts.network();
    return network.engine.locked(
        () -> {
          StringBuilder state = new StringBuilder();
          List<SoftDevice> devices = network.fabric.devices();
          if (hosts.faults().separates(devices.getFirst(), devices.getLast())) {
            state.append(" partition");
          }
          for (SoftDevice device : devices) {
            if (device.isStopped()) {
              state.append(" stopped ").append(device.name);
            }
            if (!device.ports.getFirst().isActive()) {
              state.append(" port ").append(device.name);
            }
          }
          return state.toString();
        });
  }

  /** Returns the states of the devices until some time after the limit. */
  private static List<String> states(Simulation simulation, SoftHosts hosts)
      throws InterruptedException {
    List<String> states = new ArrayList<>(List.of(state(hosts)));
    Duration end = simulation.now().plus(LIMIT).plus(LOOK);
    while (simulation.now().compareTo(end) < 0) {
      Simulation.sleep(LOOK);
      String state = state(hosts);
      if (!state.equals(states.getLast())) {
        states.add(state);
      }
    }
    return states;
  }

  @Test
  void itBeginsAndEndsByItself() {
    Set<String> seen = new TreeSet<>();
    Simulation.check(
        80,
        simulation -> {
          try (SoftHosts hosts = SoftHosts.create()) {
            Faults _ = hosts.faults().disturb(simulation.random(), LIMIT);
            List<String> states = states(simulation, hosts);
            assertEquals(NOTHING, states.getLast());
            assertTrue(states.size() <= 3, states::toString);
            seen.addAll(states);
          }
        });
    assertEquals(
        Set.of(
            NOTHING,
            " partition",
            " port client",
            " port server",
            " stopped client",
            " stopped server"),
        seen);
  }

  @Test
  void noneTakesItBack() {
    Simulation.check(
        20,
        simulation -> {
          try (SoftHosts hosts = SoftHosts.create()) {
            Faults _ = hosts.faults().disturb(simulation.random(), LIMIT).none();
            assertEquals(List.of(NOTHING), states(simulation, hosts));
          }
        });
  }

  @Test
  void itIsAFaultThatIsFoundByShrinking() {
    System.setProperty("dev.verbena.simulation.shrink", "true");
    try {
      AssertionError failure =
          assertThrows(
              AssertionError.class,
              () ->
                  Simulation.check(
                      20,
                      simulation -> {
                        try (SoftHosts hosts = SoftHosts.create()) {
                          for (int i = 0; i < 10; i++) {
                            Faults _ = hosts.faults().disturb(simulation.random(), LIMIT);
                          }
                          assertTrue(
                              states(simulation, hosts).stream()
                                  .noneMatch(state -> state.contains("stopped server")));
                        }
                      }));
      String message = failure.getMessage();
      assertTrue(message.contains(" with 1 of 10 faults: "), message);
      assertTrue(message.contains(": server is stopped for PT0."), message);
    } finally {
      System.clearProperty("dev.verbena.simulation.shrink");
    }
  }

  @Test
  void whatTheProgramDoesStays() {
    Simulation.check(
        20,
        simulation -> {
          try (SoftHosts hosts = SoftHosts.create()) {
            disturbAll(hosts.faults());
            Faults _ = hosts.faults().disturb(simulation.random(), LIMIT);
            assertEquals(List.of(state(hosts)), states(simulation, hosts));
          }
        });
  }

  @Test
  void whatTheProgramDoesAfterNoneStays() {
    Simulation.check(
        40,
        simulation -> {
          try (SoftHosts hosts = SoftHosts.create()) {
            Faults _ = hosts.faults().disturb(simulation.random(), LIMIT);
            while (state(hosts).equals(NOTHING)) {
              Simulation.sleep(Duration.ofNanos(LOOK.toNanos() / 50));
            }
            if (!state(hosts).contains("port")) { // It comes up at its time.
              Faults _ = hosts.faults().none();
              disturbAll(hosts.faults());
              assertEquals(List.of(state(hosts)), states(simulation, hosts));
            }
          }
        });
  }

  private static void disturbAll(Faults faults) {
    Faults _ = faults.partition("client", "server").stop("client").stop("server");
    Faults _ = faults.portDown("client", 1).portDown("server", 1);
  }

  @Test
  void theLimitIsPositive() {
    try (SoftHosts hosts = SoftHosts.create()) {
      Faults faults = hosts.faults();
      assertThrows(
          IllegalArgumentException.class,
          () -> faults.disturb(new java.util.Random(0), Duration.ZERO));
    }
  }
}
