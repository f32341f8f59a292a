package dev.verbena.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;

/** What the kernel has of a process, as {@code rdma resource show} lists it. */
public final class RdmaResources {
  private static final String[] KINDS = {"pd", "cq", "qp", "mr", "srq", "cm_id"};

  private RdmaResources() {}

  /** How many objects of each kind a process has; kinds of which it has none are left out. */
  public static Map<String, Integer> of(long pid) {
    Map<String, Integer> counts = new TreeMap<>();
    for (String kind : KINDS) {
      int count = (int) show(kind).lines().filter(line -> isOf(line, pid)).count();
      if (count > 0) {
        counts.put(kind, count);
      }
    }
    return counts;
  }

  /** The lines that list the objects of one kind that a process has. */
  private static boolean isOf(String line, long pid) {
    return (line + " ").contains(" pid " + pid + " ");
  }

  /**
   * Fails if a process has anything left, but for the one domain for each device that librdmacm
   * keeps.
   */
  public static void requireNoneOf(long pid) {
    Map<String, Integer> counts = of(pid);
    int devices = (int) output("rdma", "link", "show").lines().count();
    counts.computeIfPresent("pd", (kind, count) -> count <= devices ? null : count);
    if (!counts.isEmpty()) {
      throw new AssertionError("the kernel still has " + counts);
    }
  }

  private static String show(String kind) {
    try {
      return output("rdma", "-d", "resource", "show", kind);
    } catch (AssertionError e) {
      if (kind.equals("srq")) {
        return ""; // Not known to older kernels or programs.
      }
      throw e;
    }
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
