package dev.verbena.fuzz;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The defects that a run found. Each kind is printed once, with the call that showed it first, when
 * it is found: a long run need not be over.
 */
final class Findings {
  private final Map<String, Integer> counts = new LinkedHashMap<>();

  synchronized void add(String signature, String circumstances, Throwable thrown) {
    if (counts.merge(signature, 1, Integer::sum) == 1) {
      System.out.println("FOUND " + signature + "\n" + circumstances + "\n" + stack(thrown));
    }
  }

  private static String stack(Throwable thrown) {
    StringWriter text = new StringWriter();
    thrown.printStackTrace(new PrintWriter(text, true));
    return text.toString();
  }

  synchronized boolean isEmpty() {
    return counts.isEmpty();
  }

  @Override
  public synchronized String toString() {
    StringBuilder text = new StringBuilder();
    counts.forEach(
        (signature, count) ->
            text.append("FINDING (")
                .append(count)
                .append(" times) ")
                .append(signature)
                .append('\n'));
    return text.toString();
  }
}
