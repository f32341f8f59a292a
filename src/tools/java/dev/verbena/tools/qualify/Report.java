package dev.verbena.tools.qualify;

import dev.verbena.tools.output.Json;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A report: what is known so far. It is written after each step, and during long ones, so that a
 * run which is interrupted, or killed, leaves what it has found.
 */
public final class Report {
  /** The version of the format, which reports/schema.json describes. */
  public static final int VERSION = 2;

  /** How the problem of a step begins that has reached its limit. */
  public static final String NOT_ENDED = "not ended within ";

  /** How the problem of a step begins that had no time, or whose device hangs. */
  public static final String NOT_RUN = "not run, since ";

  /** The result of a measurement with a peer for which there was no time. */
  public static final String NO_TIME = "no time left";

  private static final long PAUSE_NANOS = 500_000_000;

  private final Map<String, Object> tree = new LinkedHashMap<>();
  private final List<Map<String, Object>> conformance = new ArrayList<>();
  private final List<Object> peer = new ArrayList<>();
  private final List<String> problems = new ArrayList<>();
  private final List<String> notRun = new ArrayList<>();
  private final Path folder;
  private final Redaction redaction;
  private long written;

  /**
   * Creates a report.
   *
   * @param folder the folder to write it to
   * @param redaction removes addresses and names
   * @param kind the kind of device
   * @param quick whether the run is a short one
   */
  public Report(Path folder, Redaction redaction, String version, String kind, boolean quick) {
    this.folder = folder;
    this.redaction = redaction;
    tree.put("format", "verbena-report");
    tree.put("version", VERSION);
    tree.put("verbena", version);
    tree.put("date", LocalDate.now(ZoneOffset.UTC).toString());
    tree.put("kind", kind);
    tree.put("quick", quick);
    tree.put("complete", false);
    tree.put("running", "start");
    tree.put("problems", problems);
    tree.put("not_run", notRun);
    tree.put("inventory", Map.of());
    tree.put("doctor", Map.of());
    tree.put("conformance", conformance);
    tree.put("data_path", List.of());
    tree.put("peer", peer);
  }

  /** Notes that a step begins, and writes the report. */
  public synchronized void begin(String step) throws IOException {
    tree.put("running", step);
    write();
  }

  /** Sets a part. */
  public synchronized void put(String name, Object value) {
    tree.put(name, redaction.tree(value));
  }

  /** Adds the result of a trial. */
  public synchronized void add(Outcome outcome) {
    conformance.add(outcome.tree(redaction));
    writeSometimes();
  }

  /** Adds a measurement with a peer. */
  public synchronized void addOfPeer(Map<String, Object> row) {
    peer.add(redaction.tree(row));
    writeSometimes();
  }

  /** Adds what has gone wrong in a step. */
  public synchronized void problem(String step, String text) {
    problems.add(redaction.text(step + ": " + text));
  }

  /** Adds why a part was not run. */
  public synchronized void notRun(String part, String reason) {
    String line = redaction.text(part + ": " + reason);
    if (!notRun.contains(line)) {
      notRun.add(line);
    }
  }

  /** Notes that all steps have ended, and writes the report. */
  public synchronized void end() throws IOException {
    tree.put("complete", true);
    tree.put("running", "");
    write();
  }

  /** Returns the number of trials with a finding. */
  public synchronized long findings() {
    return conformance.stream().filter(row -> Boolean.TRUE.equals(row.get("finding"))).count();
  }

  /** Returns how many of the planned measurements with a peer there are; empty without a peer. */
  public synchronized String measurements() {
    return Pages.measurements(tree);
  }

  /** Writes the report, unless it was written a moment ago. */
  private void writeSometimes() {
    try {
      if (System.nanoTime() - written > PAUSE_NANOS) {
        write();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void write() throws IOException {
    written = System.nanoTime();
    Files.createDirectories(folder);
    replace("report.json", Json.of(tree) + "\n");
    for (Map.Entry<String, String> file : new Pages(tree).all().entrySet()) {
      replace(file.getKey(), file.getValue());
    }
  }

  /** Replaces a file as a whole: whoever interrupts or reads finds the old or the new one. */
  private void replace(String name, String text) throws IOException {
    Path unfinished = folder.resolve(name + ".part");
    Files.writeString(unfinished, text);
    var _ = Files.move(unfinished, folder.resolve(name), StandardCopyOption.ATOMIC_MOVE);
  }
}
