package dev.verbena.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.opentest4j.TestAbortedException;

/** The objects of the kernel, as {@code rdma resource show} counts them. */
public final class RdmaResources {
  /** The kinds of objects; an older kernel or program does not list all of them. */
  private static final Set<String> KINDS = Set.of("pd", "cq", "qp", "mr", "srq", "cm_id");

  private static final Pattern COUNT = Pattern.compile("(\\w+) (\\d+)");

  private static final int ATTEMPTS = 50;
  private static final int INTERVAL_MILLIS = 200;
  private static final int LONGEST_MILLIS = 2_000;

  private RdmaResources() {}

  /**
   * How many objects of each kind there are on all devices, those of the kernel itself included;
   * kinds without objects are left out. The kernel does not count by process: it notes the thread,
   * and nothing once that has ended.
   */
  public static Map<String, Integer> now() {
    Map<String, Integer> counts = new TreeMap<>();
    Matcher count = COUNT.matcher(output("rdma", "resource", "show"));
    while (count.find()) {
      if (KINDS.contains(count.group(1)) && !count.group(2).equals("0")) {
        counts.merge(count.group(1), Integer.valueOf(count.group(2)), Integer::sum);
      }
    }
    return counts;
  }

  /**
   * Waits until the objects are as many as a condition wants. The longer that takes, the more
   * rarely it asks: each time starts a program, which is slow under emulation.
   */
  public static void await(Predicate<Map<String, Integer>> wanted) throws InterruptedException {
    for (long pause = INTERVAL_MILLIS;
        !wanted.test(now());
        pause = Math.min(2 * pause, LONGEST_MILLIS)) {
      Await.pass(Duration.ofMillis(pause), "objects are created or released");
    }
  }

  /**
   * Fails if there is more than there was, but for the one domain for each device that librdmacm
   * keeps.
   */
  public static void requireNoMoreThan(Map<String, Integer> before) throws InterruptedException {
    Map<String, Integer> more = moreThan(before);
    // The kernel may still be releasing what was closed last.
    for (int i = 0; i < ATTEMPTS && !more.isEmpty(); i++) {
      Await.pass(Duration.ofMillis(INTERVAL_MILLIS), "the kernel releases what was closed");
      more = moreThan(before);
    }
    if (!more.isEmpty()) {
      throw new AssertionError("the kernel still has " + more);
    }
  }

  private static Map<String, Integer> moreThan(Map<String, Integer> before) {
    Map<String, Integer> more = now();
    before.forEach(
        (kind, count) ->
            more.computeIfPresent(
                kind, (k, now) -> now <= count ? null : Integer.valueOf(now - count)));
    int devices = (int) output("rdma", "link", "show").lines().count();
    more.computeIfPresent("pd", (kind, count) -> count <= devices ? null : count);
    return more;
  }

  private static String output(String... command) {
    try {
      Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
      String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      if (process.waitFor() != 0) {
        throw new AssertionError(String.join(" ", command) + ": " + text);
      }
      return text;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError(e);
    }
  }

  /**
   * The kernel's parts are told in the reverse order of their loading, and ib_uverbs waits for
   * those who have the device open, as librdmacm has it: so rdma_cm must be told before.
   */
  public static void requireToldBeforeWaitedFor() throws IOException {
    List<String> newestFirst =
        Files.readAllLines(Path.of("/proc/modules")).stream()
            .map(line -> line.substring(0, line.indexOf(' ')))
            .toList();
    if (newestFirst.indexOf("ib_uverbs") < newestFirst.indexOf("rdma_cm")) {
      throw new TestAbortedException(
          "ib_uverbs was loaded after rdma_cm, and waits for users of the device before rdma_cm can"
              + " tell them");
    }
  }
}
