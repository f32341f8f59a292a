package dev.verbena.tools;

import dev.verbena.tools.output.Chart;
import dev.verbena.tools.output.Chart.Line;
import dev.verbena.tools.output.Json;
import dev.verbena.tools.output.Units;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Writes what was measured of each size: rows of text or comma-separated values as the size ends;
 * at the end JSON and a chart, whose file is opened before the measurement.
 */
final class PerfOutput implements AutoCloseable {
  /** The form of the result. */
  enum Form {
    /** For people. */
    TEXT,
    /** One object. */
    JSON,
    /** Comma-separated values with a line of names. */
    CSV
  }

  private final PrintWriter out;
  private final PrintWriter err;
  private final Form form;
  private final PerfTask task;
  private final String title;
  private final String unit;
  private final @Nullable Path chartFile;
  private final @Nullable Writer chart;
  private final Map<String, Object> tree = new LinkedHashMap<>();
  private final List<PerfResult> results = new ArrayList<>();
  private String device = "";

  /**
   * Opens the output of a measurement.
   *
   * @param title what is measured
   * @param unit the unit of charts
   */
  PerfOutput(PerfOptions options, PerfTask task, String title, String unit) throws IOException {
    this.out = options.out();
    this.err = options.err();
    this.form = options.form();
    this.task = task;
    this.title = title;
    this.unit = unit;
    this.chartFile = options.chart();
    this.chart = chartFile == null ? null : open(chartFile);
  }

  private static Writer open(Path file) throws IOException {
    try {
      return Files.newBufferedWriter(file, StandardCharsets.UTF_8);
    } catch (NoSuchFileException e) {
      throw new IOException("the chart cannot be written: there is no folder for " + file, e);
    } catch (IOException e) {
      throw new IOException("the chart cannot be written: " + e, e);
    }
  }

  /** Sets the device that is measured, which the chart names. */
  void measures(PerfEnd end) {
    device = end.link().device();
  }

  /** Adds a value of JSON that is the same for all sizes. */
  void put(String name, Object value) {
    tree.put(name, value);
  }

  /** Adds the result of a size, all of which was measured or a part. */
  void add(PerfResult result) {
    boolean isFirst = results.isEmpty();
    results.add(result);
    if (form == Form.CSV) {
      if (isFirst) {
        out.println(String.join(",", result.values().keySet()));
      }
      out.println(
          result.values().values().stream().map(Object::toString).collect(Collectors.joining(",")));
    } else if (form == Form.TEXT && task.sizes().size() > 1) {
      if (isFirst) {
        out.println(title + ", " + unit);
        row(result.cells().keySet());
      }
      row(result.cells().values());
    } else if (form == Form.TEXT) {
      String planned = isComplete(result) ? "" : " of " + planned();
      out.println(title(result) + ", " + result.count() + planned + " times:" + result.text());
    }
  }

  private void row(Collection<String> cells) {
    out.println(cells.stream().map("%9s"::formatted).collect(Collectors.joining(" ")));
  }

  private String title(PerfResult result) {
    return title + ", " + Units.bytes(result.size());
  }

  private int planned() {
    return task.iterations() * task.plan().queuePairs();
  }

  private boolean isComplete(PerfResult result) {
    return result.count() >= planned();
  }

  /** Writes JSON also if the measurement has begun and has no result; then there is no chart. */
  @Override
  public void close() throws IOException {
    if (!device.isEmpty() && form == Form.JSON) {
      out.println(Json.of(tree()));
    } else if (!device.isEmpty() && results.isEmpty()) {
      err.println("nothing was measured: the first measurement had not ended");
    }
    try (Writer file = chart) {
      if (file != null && !results.isEmpty()) {
        file.write(chart().svg());
      }
    }
    if (chartFile != null
        && results.isEmpty()
        && Files.isRegularFile(chartFile, LinkOption.NOFOLLOW_LINKS)) { // Not /dev/stdout.
      Files.delete(chartFile);
    }
  }

  /** Returns the result of one size, or those of several, or of none, as a list. */
  private Map<String, Object> tree() {
    put(
        "complete",
        results.size() == task.sizes().size() && results.stream().allMatch(this::isComplete));
    if (task.sizes().size() == 1 && !results.isEmpty()) {
      tree.putAll(results.getFirst().tree());
    } else {
      put("sizes", results.stream().map(PerfResult::tree).toList());
    }
    return tree;
  }

  private Chart chart() {
    long samples = results.stream().mapToLong(PerfResult::count).sum();
    String note = "%s, %s, %d samples".formatted(device, LocalDate.now(ZoneOffset.UTC), samples);
    if (results.size() == 1) {
      return results.getFirst().chart().with(title(results.getFirst()), note);
    }
    List<Line> lines = new ArrayList<>();
    for (String name : results.getFirst().points().keySet()) {
      lines.add(
          new Line(
              name,
              results.stream()
                  .map(result -> new double[] {result.size(), result.points().get(name)})
                  .toList()));
    }
    return Chart.bySize(unit, lines).with(title, note + " of " + results.size() + " sizes");
  }
}
