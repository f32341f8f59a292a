package dev.verbena.tools.qualify;

import static dev.verbena.testing.Environment.SOFT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Once;
import dev.verbena.testing.Rig;
import dev.verbena.tools.qualify.Outcome.Verdict;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Trials of a device, and children that crash or hang. */
class ConformanceTrialsTest {
  /** A child that prints results, and ends as its argument says. */
  static final class Child {
    public static void main(String[] args) throws InterruptedException {
      int first = Integer.parseInt(args[2]);
      for (int i = first; i < 5; i++) {
        if (i == Integer.parseInt(args[1])) {
          if (args[0].equals("hang")) {
            Thread.currentThread().join();
          }
          if (args[0].equals("crash")) {
            MemorySegment.ofAddress(8).reinterpret(1).set(ValueLayout.JAVA_BYTE, 0, (byte) 1);
          }
          Runtime.getRuntime().halt(3);
        }
        System.out.println("a library prints something");
        System.out.println(ChildTrials.line(new Outcome("name", i == 2, Verdict.WORKS, "d\te")));
      }
    }
  }

  private static final List<String> NAMES = List.of("a", "b", "c", "d", "e");

  private static List<Outcome> outcomes(String... arguments) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-XX:+UseSerialGC");
    command.add("-XX:-CreateCoredumpOnCrash");
    command.add("-XX:ErrorFile=/dev/null");
    command.add("--enable-native-access=ALL-UNNAMED");
    command.addAll(
        List.of("-cp", root(Child.class) + ":" + root(Outcome.class), Child.class.getName()));
    command.addAll(List.of(arguments));
    List<Outcome> outcomes = new ArrayList<>();
    new ChildTrials(command, arguments[0].equals("hang") ? Duration.ofSeconds(30) : Await.LIMIT)
        .run(NAMES, outcomes::add);
    assertEquals(NAMES, outcomes.stream().map(Outcome::capability).toList());
    return outcomes;
  }

  private static Path root(Class<?> type) throws URISyntaxException {
    return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
  }

  @Test
  void crashIsALineAndTheNextChildGoesOn() throws Exception {
    List<Outcome> outcomes = outcomes("crash", "1");
    assertEquals(new Outcome("a", false, Verdict.WORKS, "d e"), outcomes.get(0));
    assertEquals(Verdict.CRASHED, outcomes.get(1).verdict());
    String detail = outcomes.get(1).detail();
    assertTrue(detail.matches("exit status \\d+: SIGSEGV in [VCvjJ] .*"), detail);
    // The child crashes at index 1 only: the next one begins behind it.
    assertEquals(new Outcome("c", true, Verdict.WORKS, "d e"), outcomes.get(2));
    assertEquals(Verdict.WORKS, outcomes.get(4).verdict());
  }

  @Test
  void endIsALine() throws Exception {
    List<Outcome> outcomes = outcomes("end", "1");
    assertEquals(new Outcome("b", null, Verdict.CRASHED, "exit status 3"), outcomes.get(1));
  }

  @Test
  @Tag("slow")
  void hangIsALine() throws Exception {
    List<Outcome> outcomes = outcomes("hang", "3");
    assertEquals(Verdict.HUNG, outcomes.get(3).verdict());
    assertEquals(Verdict.WORKS, outcomes.get(4).verdict());
  }

  @DeviceTest
  void sendWorksOnADevice() {
    Capability send =
        Capabilities.ALL.stream()
            .filter(capability -> capability.name().equals("RC send"))
            .findFirst()
            .orElseThrow();
    assertEquals(new Outcome("RC send", null, Verdict.WORKS, ""), send.tryOn(Rig.a()));
  }

  @DeviceTest
  @Once(
      value = SOFT,
      reason =
          "the calls that the tests of dev.verbena.verbs make; the emulated NIC runs it, too, each"
              + " trial in a JVM of its own")
  void everyTrialEndsWithAVerdict() throws Exception {
    List<Outcome> outcomes = new ArrayList<>();
    new Conformance(Rig.a(), Await.LIMIT).run(outcomes::add);
    assertEquals(Conformance.count(), outcomes.size());
    List<Outcome> bad =
        outcomes.stream()
            .filter(
                outcome ->
                    outcome.verdict() == Verdict.CRASHED
                        || outcome.verdict() == Verdict.HUNG
                        || outcome.verdict() == Verdict.NOT_TRIED)
            .toList();
    assertEquals(List.of(), bad);
    assertTrue(outcomes.stream().anyMatch(outcome -> outcome.verdict() == Verdict.WORKS));
  }
}
