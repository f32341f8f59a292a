package dev.verbena.lab;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClasspathRoots;
import static org.junit.platform.launcher.TagFilter.excludeTags;
import static org.junit.platform.launcher.TagFilter.includeTags;

import dev.verbena.testing.Environment;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.reporting.legacy.xml.LegacyXmlReportGeneratingListener;

/**
 * Runs the device tests that are for an {@link Environment}, and holds their skips against its list
 * of known gaps.
 *
 * <p>Arguments: the jar of the tests, the folder for reports, and optionally the names of test
 * classes to run instead of all, or after {@code @} a file with the output of {@link
 * DeviceTestClasses}, to run all without looking for them.
 */
public final class LabMain {
  /** Outside of a guest: many times what any test takes on a quiet machine. */
  private static final Duration STALL_LIMIT = Duration.ofMinutes(10);

  private LabMain() {}

  /** Runs; exits with 1 if anything failed. */
  public static void main(String[] args) throws IOException, ClassNotFoundException {
    Path tests = Path.of(args[0]);
    Path reports = Path.of(args[1]);
    Files.createDirectories(reports);
    PrintWriter out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
    CallsSeen seen = new CallsSeen();
    Environment here = Environment.current();
    boolean chosen = args.length > 2 && !args[2].startsWith("@");
    Results results = new Results(here, chosen, out);
    Launcher launcher = LauncherFactory.create();
    if (!ShownProgress.isWatched()) {
      launcher.registerTestExecutionListeners(Watch.start(STALL_LIMIT, reports, out));
    }
    LauncherDiscoveryRequestBuilder builder =
        LauncherDiscoveryRequestBuilder.request()
            // The others need no device: the ordinary build runs them, on a quicker machine.
            .filters(includeTags("device"))
            .selectors(selectors(tests, here, results, args));
    if (Boolean.getBoolean("verbena.quick")) {
      builder.filters(excludeTags("slow"));
    }
    LauncherDiscoveryRequest request = builder.build();
    launcher.execute(
        request,
        new ShownProgress(out),
        results,
        new LegacyXmlReportGeneratingListener(reports, out));
    out.println(results.summary());
    seen.write(reports.resolve("functions"));
    Files.write(reports.resolve("left"), results.left());
    Files.writeString(reports.resolve("failures"), results.failures());
    Files.writeString(reports.resolve("summary"), results.row() + "\n");
    // A test may have left a thread in C behind.
    System.exit(results.isGreen() ? 0 : 1);
  }

  private static List<? extends DiscoverySelector> selectors(
      Path tests, Environment here, Results results, String[] args)
      throws IOException, ClassNotFoundException {
    if (args.length == 2) {
      return selectClasspathRoots(Set.of(tests));
    }
    return args[2].startsWith("@")
        ? needed(Path.of(args[2].substring(1)), here, results)
        : Arrays.stream(args).skip(2).map(DiscoverySelectors::selectClass).toList();
  }

  /**
   * Selects the classes of a list that have a test for this environment: in a guest, finding the
   * tests of a class takes most of a second.
   */
  private static List<DiscoverySelector> needed(Path list, Environment here, Results results)
      throws IOException, ClassNotFoundException {
    List<DiscoverySelector> needed = new ArrayList<>();
    for (String name : Files.readAllLines(list)) {
      Class<?> type = Class.forName(name, false, LabMain.class.getClassLoader());
      if (here.leaves(type).isPresent()) {
        results.leave(type);
      } else {
        needed.add(selectClass(type));
      }
    }
    return needed;
  }
}
