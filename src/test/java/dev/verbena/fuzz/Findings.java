package dev.verbena.fuzz;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.LinkedHashMap;
import java.util.Map;

/** The defects that a run found, each kind once, with the call that showed it first. */
final class Findings {
  private static final class Finding {
    final String first;
    int count;

    Finding(String first) {
      this.first = first;
    }
  }

  private final Map<String, Finding> findings = new LinkedHashMap<>();

  synchronized void add(String signature, String circumstances, Throwable thrown) {
    findings.computeIfAbsent(signature, s -> new Finding(circumstances + "\n" + stack(thrown)))
        .count++;
  }

  private static String stack(Throwable thrown) {
    StringWriter text = new StringWriter();
    thrown.printStackTrace(new PrintWriter(text, true));
    return text.toString();
  }

  synchronized boolean isEmpty() {
    return findings.isEmpty();
  }

  @Override
  public synchronized String toString() {
    StringBuilder text = new StringBuilder();
    findings.forEach(
        (signature, finding) ->
            text.append("FINDING (")
                .append(finding.count)
                .append(" times) ")
                .append(signature)
                .append('\n')
                .append(finding.first)
                .append('\n'));
    return text.toString();
  }
}
