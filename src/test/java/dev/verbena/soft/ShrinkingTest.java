package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.internal.time.Time;
import dev.verbena.messages.Connection;
import dev.verbena.testing.ForkedJvm;
import java.time.Duration;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("host")
@EnabledForJreRange(minVersion = 24)
class ShrinkingTest {
  private static final int SEEDS = 20;
  private static final int MESSAGES = 10;

  /** Less than the time after which a device sends a request again. */
  private static final Duration PATIENCE = Duration.ofMillis(100);

  private static final Pattern SHRUNK =
      Pattern.compile(
          "seed (\\d+), after \\S+ with 1 of (\\d+) faults: java.lang.IllegalStateException: late;"
              + " repeat it with (-D\\S+) (-D\\S+=\\d+)\n\\d+ after \\S+: lost 192.*");

  private static final String SEED = "dev.verbena.simulation.seed";
  private static final String FAULTS = "dev.verbena.simulation.faults";
  private static final String SHRINK = "dev.verbena.simulation.shrink";

  /** Prints how the program fails. */
  static final class Failure {
    private Failure() {}

    public static void main(String[] args) {
      try {
        Simulation.check(SEEDS, ShrinkingTest::relyOnTheFirstAttempt);
        System.out.print("no failure");
      } catch (AssertionError e) {
        System.out.print(e.getMessage());
      }
    }
  }

  @AfterEach
  void clear() {
    System.clearProperty(SEED);
    System.clearProperty(FAULTS);
    System.clearProperty(SHRINK);
  }

  /** It takes a message that is sent again for one that is lost for good. */
  private static void relyOnTheFirstAttempt(Simulation simulation) throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      Connection client = hosts.client();
      Connection server = hosts.server();
      Faults _ = hosts.faults().vary(simulation.random()).loss(0.05);
      Thread _ = simulation.actor("echo", () -> echo(server));
      for (int i = 0; i < MESSAGES; i++) {
        Duration start = simulation.now();
        client.send(new byte[i]);
        byte[] _ = client.receive();
        if (simulation.now().minus(start).compareTo(PATIENCE) > 0) {
          throw new IllegalStateException("late");
        }
      }
    }
  }

  private static void echo(Connection server) throws InterruptedException {
    for (byte[] message = server.receive(); message != null; message = server.receive()) {
      server.send(message);
    }
  }

  private static String failure(Simulation.Program program) {
    return assertThrows(AssertionError.class, () -> Simulation.check(SEEDS, program)).getMessage();
  }

  @Test
  void oneOfManyFaultsIsFoundAndRepeatedInAnotherJvm() {
    System.setProperty(SHRINK, "true");
    String shrunk = failure(ShrinkingTest::relyOnTheFirstAttempt);
    MatchResult parts =
        SHRUNK.matcher(shrunk).results().findFirst().orElseThrow(() -> new AssertionError(shrunk));
    assertTrue(Integer.parseInt(parts.group(2)) > 5, shrunk);
    String seed = parts.group(3);
    assertEquals(
        shrunk.replace("1 of " + parts.group(2) + " faults", "1 fault"),
        output(seed, parts.group(4)));
    assertEquals("no failure", output(seed, "-D" + FAULTS + "="));
  }

  private static String output(String... properties) {
    return new ForkedJvm()
        .with("-XX:+UseSerialGC", "--add-opens=java.base/java.lang=ALL-UNNAMED")
        .with(properties)
        .withNativeAccess()
        .run(Failure.class)
        .succeeded();
  }

  @Test
  void aFailureWithoutFaultsNeedsNone() {
    Simulation.Program program =
        simulation -> {
          try (SoftHosts hosts = SoftHosts.create()) {
            Faults _ = hosts.faults().loss(0.1).strict();
            hosts.client().send(new byte[1]);
            throw new IllegalStateException("always");
          }
        };
    String all = failure(program);
    assertTrue(all.matches("seed 0, after \\S+ with \\d+ faults: .*"), all);
    System.setProperty(SHRINK, "true");
    String shrunk = failure(program);
    assertTrue(
        shrunk.matches("seed 0, after \\S+ with 0 of \\d+ faults: .* -D" + FAULTS + "="), shrunk);
  }

  @Test
  void anotherFailureIsNotWhatIsLookedFor() {
    System.setProperty(SHRINK, "true");
    int[] runs = {0};
    String shrunk =
        failure(
            simulation -> {
              for (int i = 0; i < 1000; i++) {
                boolean _ = Time.injects(() -> "a fault");
              }
              throw runs[0]++ == 0
                  ? new IllegalStateException("wanted")
                  : new IllegalArgumentException("another");
            });
    assertTrue(
        shrunk.matches("seed 0, after \\S+ with 1000 faults: \\S+ wanted; .*" + SEED + "=0"),
        shrunk);
    assertEquals(1 + 200, runs[0]);
  }

  @ParameterizedTest
  @CsvSource({
    SEED + ",x,'a number, such as 42'",
    FAULTS + ",1;2,'numbers from 1 on, such as 12,40, or empty'",
    FAULTS + ",0,'numbers from 1 on, such as 12,40, or empty'",
    SHRINK + ",yes,true or false",
  })
  void aWrongPropertyIsNamed(String property, String value, String right) {
    System.setProperty(SEED, "0");
    System.setProperty(property, value);
    IllegalArgumentException wrong =
        assertThrows(
            IllegalArgumentException.class,
            () ->
                Simulation.check(
                    1,
                    simulation -> {
                      throw new IllegalStateException("always");
                    }));
    assertEquals(
        "the system property %s is %s, not %s".formatted(property, right, value),
        wrong.getMessage());
  }

  @Test
  void faultsAreThoseOfASeed() {
    System.setProperty(FAULTS, "1");
    IllegalArgumentException wrong =
        assertThrows(IllegalArgumentException.class, () -> Simulation.run(0, simulation -> {}));
    assertTrue(wrong.getMessage().contains(SEED), wrong.getMessage());
  }
}
