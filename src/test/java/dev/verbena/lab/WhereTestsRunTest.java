package dev.verbena.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectPackage;

import dev.verbena.testing.Environment;
import dev.verbena.testing.Need;
import dev.verbena.testing.Needs;
import dev.verbena.testing.On;
import dev.verbena.testing.Once;
import java.io.IOException;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiPredicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** Every device test runs somewhere, and what tests and lists say about it is used. */
@Tag("host")
class WhereTestsRunTest {
  private static final Path LAB = Path.of("src/lab");

  /** Those of the test command that run all tests; forky-arm64 and nic-testing run a selection. */
  private static final List<Environment> COMPLETE =
      List.of(
          Environment.SOFT,
          Environment.BOOKWORM,
          Environment.TRIXIE,
          Environment.FORKY,
          Environment.NIC,
          Environment.EFA);

  /** The test classes, and the tests of each. */
  private static final Map<Class<?>, List<Method>> TESTS = tests();

  private static Map<Class<?>, List<Method>> tests() {
    TestPlan plan =
        LauncherFactory.create()
            .discover(
                LauncherDiscoveryRequestBuilder.request()
                    .selectors(selectPackage("dev.verbena"))
                    .build());
    Map<Class<?>, List<Method>> tests = new LinkedHashMap<>();
    for (TestIdentifier engine : plan.getRoots()) {
      for (TestIdentifier test : plan.getDescendants(engine)) {
        if (test.getSource().orElse(null) instanceof ClassSource source) {
          tests.put(source.getJavaClass(), Environment.tests(source.getJavaClass()));
        }
      }
    }
    return tests;
  }

  /** The names of the tests, {@code Class.method}, for which something is true. */
  private static Set<String> all(BiPredicate<Class<?>, Method> predicate) {
    Set<String> names = new TreeSet<>();
    TESTS.forEach(
        (type, tests) ->
            tests.stream()
                .filter(test -> predicate.test(type, test))
                .forEach(test -> names.add(Results.name(type, test))));
    return names;
  }

  @Test
  void everyDeviceTestRunsInSomeEnvironment() {
    assertTrue(all(Environment::isDeviceTest).size() > 700, "tests are found");
    assertEquals(Set.of(), all((type, test) -> !isByHand(type) && !runs(type, test)));
  }

  /** Whether the test command runs a test. */
  static boolean runs(Class<?> type, Method test) {
    return COMPLETE.stream().anyMatch(e -> Gaps.runs(e, type, test))
        || runsWithNewLibrary(type, test);
  }

  /** With the libmlx5 of Debian testing run the tests that are skipped with that of the host. */
  private static boolean runsWithNewLibrary(Class<?> type, Method test) {
    return Gaps.of(Environment.NIC).tests().contains(Results.name(type, test))
        && type.getPackageName().equals("dev.verbena.verbs")
        && Gaps.runs(Environment.NIC_TESTING, type, test);
  }

  private static boolean isByHand(Class<?> type) {
    Needs needs = type.getAnnotation(Needs.class);
    return needs != null && List.of(needs.value()).contains(Need.BY_HAND);
  }

  @Test
  void theEnvironmentThatRunsATestForAllRunsIt() {
    assertEquals(
        Set.of(),
        all(
            (type, test) ->
                Environment.isDeviceTest(type, test)
                    && Environment.once(type, test)
                        .filter(one -> !Gaps.runs(one, type, test))
                        .isPresent()
                    && Environment.GUESTS.stream().anyMatch(g -> Gaps.runs(g, type, test))));
  }

  @Test
  void onlyDeviceTestsHaveNeeds() {
    assertEquals(
        Set.of(), all((type, test) -> !Environment.isDeviceTest(type, test) && hasNeeds(test)));
    assertEquals(
        Set.of(),
        TESTS.keySet().stream()
            .filter(WhereTestsRunTest::hasNeeds)
            .filter(
                type ->
                    TESTS.get(type).stream()
                        .noneMatch(test -> Environment.isDeviceTest(type, test)))
            .collect(Collectors.toSet()));
  }

  private static boolean hasNeeds(AnnotatedElement element) {
    return Stream.of(Needs.class, On.class, Once.class).anyMatch(element::isAnnotationPresent);
  }

  @Test
  void everyGapIsATestOfItsEnvironment() {
    for (Environment environment : Environment.values()) {
      if (environment == Environment.NIC || Environment.GUESTS.contains(environment)) {
        Set<String> gaps = new TreeSet<>(Gaps.of(environment).tests());
        gaps.removeAll(
            all(
                (type, test) ->
                    Environment.isDeviceTest(type, test)
                        && environment.leaves(type, test).isEmpty()));
        assertEquals(Set.of(), gaps, environment + ": no such test");
      }
    }
  }

  @Test
  void everyGuestIsAnEnvironment() throws IOException {
    Set<String> guests =
        Environment.GUESTS.stream().map(Environment::toString).collect(Collectors.toSet());
    assertEquals(guests, names(LAB.resolve("guests")));
    guests.add("nic");
    assertEquals(guests, names(LAB.resolve("gaps")), "each has a list of gaps");
    for (Environment guest : Environment.GUESTS) {
      assertEquals(
          Files.readString(LAB.resolve("guests/" + guest)).contains("two_hosts=yes"),
          !guest.lacks(Need.TWO_HOSTS),
          guest.toString());
    }
  }

  private static Set<String> names(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.map(file -> file.getFileName().toString()).collect(Collectors.toSet());
    }
  }
}
