package dev.verbena.lab;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClasspathRoots;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectPackage;
import static org.junit.platform.launcher.TagFilter.excludeTags;
import static org.junit.platform.launcher.TagFilter.includeTags;

import dev.verbena.testing.Rig;
import dev.verbena.testing.TwoHostsTest;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.discovery.ClassSelector;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.PostDiscoveryFilter;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.reporting.legacy.xml.LegacyXmlReportGeneratingListener;

/**
 * Runs all device tests inside a lab guest, and holds their skips against the guest's list of known
 * gaps.
 *
 * <p>Arguments: the jar of the tests, the list of gaps, the folder for reports, and optionally the
 * names of test classes, or of packages with a dot at the end, to run instead of all, or after
 * {@code @} a file with the output of {@link DeviceTestClasses}, to run all without looking for
 * them. With {@code -Dverbena.lab.shared}, a list of {@link SharedTests}, each of those tests is
 * left to one of {@code -Dverbena.lab.guests}: the guests of this run, and the software devices if
 * they run the tests, too.
 */
public final class LabMain {
  /** Outside of a guest: many times what any test takes on a quiet machine. */
  private static final Duration STALL_LIMIT = Duration.ofMinutes(10);

  private LabMain() {}

  /** Runs; exits with 1 if anything failed. */
  public static void main(String[] args) throws IOException {
    Path tests = Path.of(args[0]);
    Gaps gaps = Gaps.read(Path.of(args[1]));
    Path reports = Path.of(args[2]);
    Files.createDirectories(reports);
    PrintWriter out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
    CallsSeen seen = new CallsSeen();
    Results results = new Results(gaps, out);
    Launcher launcher = LauncherFactory.create();
    if (!Progress.isWatched()) {
      launcher.registerTestExecutionListeners(Watch.start(STALL_LIMIT, reports, out));
    }
    Predicate<String> leftToOthers = leftToOthers();
    launcher.execute(
        request(tests, gaps, leftToOthers, results, args)
            .filters(without(leftToOthers, results))
            .build(),
        new Progress(out),
        results,
        new LegacyXmlReportGeneratingListener(reports, out));
    out.println(results.summary());
    seen.write(reports.resolve("functions"));
    Files.writeString(reports.resolve("failures"), results.failures());
    Files.writeString(reports.resolve("summary"), results.row() + "\n");
    // A test may have left a thread in C behind.
    System.exit(results.isGreen() ? 0 : 1);
  }

  private static LauncherDiscoveryRequestBuilder request(
      Path tests, Gaps gaps, Predicate<String> leftToOthers, Results results, String[] args)
      throws IOException {
    LauncherDiscoveryRequestBuilder request =
        LauncherDiscoveryRequestBuilder.request()
            // The others need no device: the ordinary build runs them, on a quicker machine.
            .filters(includeTags("device"), presentIn(gaps));
    if (System.getenv(TwoHostsTest.VARIABLE) == null) {
      // The guest was not made for them: so it does not skip them either.
      request.filters(excludeTags(TwoHostsTest.TAG));
    }
    if (Boolean.getBoolean("verbena.quick")) {
      request.filters(excludeTags("slow"));
    }
    if (args.length == 3) {
      return request.selectors(selectClasspathRoots(Set.of(tests)));
    }
    if (args[3].startsWith("@")) {
      Path list = Path.of(args[3].substring(1));
      return request.selectors(needed(list, gaps, leftToOthers, results));
    }
    for (int i = 3; i < args.length; i++) {
      String name = args[i];
      request.selectors(
          name.endsWith(".")
              ? selectPackage(name.substring(0, name.length() - 1))
              : selectClass(name));
    }
    return request;
  }

  /**
   * Selects the classes of a list that have a test for this guest: finding the tests of a class
   * takes most of a second there.
   */
  private static List<ClassSelector> needed(
      Path list, Gaps gaps, Predicate<String> leftToOthers, Results results) throws IOException {
    List<ClassSelector> needed = new ArrayList<>();
    for (String line : Files.readAllLines(list)) {
      String[] nameAndCount = line.split(" ", 2);
      String all = Results.simple(nameAndCount[0]) + ".*";
      if (leftToOthers.test(all)) {
        results.leave(Integer.parseInt(nameAndCount[1]));
      } else if (!gaps.leavesOut(all)) {
        needed.add(selectClass(nameAndCount[0]));
      }
    }
    return needed;
  }

  private static PostDiscoveryFilter presentIn(Gaps gaps) {
    return test ->
        FilterResult.includedIf(
            !(test.getSource().orElse(null) instanceof MethodSource method
                && gaps.leavesOut(Results.name(method))));
  }

  /** Tells which tests, {@code Class.method}, and classes, {@code Class.*}, others run. */
  private static Predicate<String> leftToOthers() throws IOException {
    String list = System.getProperty("verbena.lab.shared");
    if (list == null) {
      return _ -> false;
    }
    SharedTests shared = SharedTests.read(Path.of(list));
    List<String> chosen = List.of(System.getProperty("verbena.lab.guests").split(","));
    String guest = Rig.labGuest().orElseThrow();
    return name -> shared.leaves(name, guest, chosen);
  }

  /** Leaves tests to others, and notes how many. */
  private static PostDiscoveryFilter without(Predicate<String> leftToOthers, Results results) {
    return test -> {
      boolean leaves =
          test.getSource().orElse(null) instanceof MethodSource method
              && leftToOthers.test(Results.name(method));
      if (leaves) {
        results.leave(test.getUniqueId());
      }
      return FilterResult.includedIf(!leaves);
    };
  }
}
