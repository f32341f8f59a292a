package dev.verbena.lab;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectPackage;
import static org.junit.platform.launcher.TagFilter.includeTags;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** The list of tests that run once for all guests. */
class SharedTestsTest {
  private static final Path LIST = Path.of("src/lab/shared");
  private static final Path GUESTS = Path.of("src/lab/guests");
  private static final List<String> ALL = List.of("trixie", "forky", "bookworm");

  @TempDir private Path folder;

  private SharedTests list(String lines) throws IOException {
    return SharedTests.read(Files.writeString(folder.resolve("list"), lines));
  }

  @Test
  void oneGuestRunsAListedTest() throws IOException {
    SharedTests shared = list("# comment\n\nSome forky a reason\nOther.one trixie a reason\n");
    assertFalse(shared.leaves("Some.test", "forky", ALL));
    assertTrue(shared.leaves("Some.test", "trixie", ALL));
    assertFalse(shared.leaves("Other.one", "trixie", ALL));
    assertTrue(shared.leaves("Other.one", "forky", ALL));
    assertFalse(shared.leaves("Other.two", "forky", ALL), "not listed");
  }

  @Test
  void theFirstGuestRunsWhatIsListedForOneThatWasNotChosen() throws IOException {
    SharedTests shared = list("Some forky a reason\n");
    List<String> chosen = List.of("bookworm", "trixie");
    assertFalse(shared.leaves("Some.test", "bookworm", chosen));
    assertTrue(shared.leaves("Some.test", "trixie", chosen));
  }

  @Test
  void softwareDevicesRunATestForAllGuests() throws IOException {
    SharedTests shared = list("Some soft a reason\nSome.one forky a reason\n");
    List<String> chosen = List.of("trixie", "forky", SharedTests.SOFT);
    for (String guest : List.of("trixie", "forky")) {
      assertTrue(shared.leaves("Some.test", guest, chosen), guest);
    }
    assertFalse(shared.leaves("Some.one", "forky", chosen), "a line of its own");
    assertFalse(shared.leaves("Some.*", "forky", chosen), "one of its tests runs");
    assertTrue(shared.leaves("Some.*", "trixie", chosen));
    assertFalse(shared.leaves("Some.test", "trixie", ALL), "no software devices in this run");
  }

  @Test
  void aTestNeedsAGuestAndAReasonAndOneLine() {
    assertThrows(IllegalArgumentException.class, () -> list("Some forky\n"));
    assertThrows(IllegalArgumentException.class, () -> list("Some forky a\nSome trixie b\n"));
  }

  @Test
  void theListNamesTestsOnDevicesAndWhereTheyRun() throws IOException {
    TestPlan plan =
        LauncherFactory.create()
            .discover(
                LauncherDiscoveryRequestBuilder.request()
                    .selectors(selectPackage("dev.verbena"))
                    .filters(includeTags("device"))
                    .build());
    Set<String> tests = new HashSet<>();
    plan.accept(
        new TestPlan.Visitor() {
          @Override
          public void visit(TestIdentifier test) {
            if (test.getSource().orElse(null) instanceof MethodSource method) {
              String name = Results.name(method);
              tests.add(name);
              tests.add(name.replaceFirst("[.].*", ""));
            }
          }
        });
    SharedTests shared = SharedTests.read(LIST);
    for (String name : shared.names()) {
      assertTrue(tests.contains(name), name + ": no test on a device");
      String guest = shared.guest(name).orElseThrow();
      assertTrue(
          guest.equals(SharedTests.SOFT) || Files.exists(GUESTS.resolve(guest)),
          name + ": no guest " + guest);
    }
    Gaps soft = Gaps.read(Path.of("src/lab/gaps/soft"));
    Gaps trixie = Gaps.read(Path.of("src/lab/gaps/trixie"));
    for (String test : tests) {
      if (test.contains(".") && shared.guest(test).equals(Optional.of(SharedTests.SOFT))) {
        assertTrue(soft.runs(test) || !trixie.runs(test), test + ": not on software devices");
      }
    }
  }
}
