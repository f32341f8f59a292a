package dev.verbena.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** What the kernel has for programs, as {@code rdma resource show} lists it. */
public final class RdmaResources {
  private static final List<String> KINDS = List.of("pd", "cq", "qp", "mr", "srq", "cm_id");

  /** In one process, since processes are what takes time under emulation. */
  private static final String COMMAND =
      KINDS.stream()
          // An older kernel or program does not know all kinds.
          .map(kind -> "echo kind " + kind + "; rdma resource show " + kind + " 2>/dev/null")
          .collect(Collectors.joining("; ", "rdma dev show >/dev/null || exit; ", "; true"));

  private static final int ATTEMPTS = 50;
  private static final int INTERVAL_MILLIS = 200;

  private RdmaResources() {}

  /**
   * How many objects of each kind all programs have; kinds of which they have none are left out. By
   * process it cannot be told: the kernel notes the thread, and nothing when that has ended.
   */
  public static Map<String, Integer> now() {
    Map<String, Integer> counts = new TreeMap<>();
    String kind = "";
    for (String line : output("sh", "-c", COMMAND).lines().toList()) {
      if (line.startsWith("kind ")) {
        kind = line.substring("kind ".length());
      } else if (!line.contains("comm [")) { // of the kernel itself
        counts.merge(kind, 1, Integer::sum);
      }
    }
    return counts;
  }

  /**
   * Fails if there is more than there was, but for the one domain for each device that librdmacm
   * keeps.
   */
  public static void requireNoMoreThan(Map<String, Integer> before) throws InterruptedException {
    Map<String, Integer> more = moreThan(before);
    // The kernel may still be releasing what was closed last.
    for (int i = 0; i < ATTEMPTS && !more.isEmpty(); i++) {
      Thread.sleep(INTERVAL_MILLIS);
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
}
