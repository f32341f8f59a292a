package dev.verbena.benchmarks;

import dev.verbena.tools.output.Axis;
import dev.verbena.tools.output.Chart;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.openjdk.jmh.annotations.Param;

/**
 * Prints the rows that {@code run} has written to a file, Java beside C where both are: medians,
 * and the range of the ratio if a row was measured several times; nanoseconds of one round of a
 * batch and bytes that a request allocates for {@link DataPath}, JMH's units for others. With two
 * files, then and now. With {@code --chart FILE}, writes the ratios to C by the size of the batch,
 * as SVG.
 */
public final class Compare {
  private static final Pattern BATCH = Pattern.compile("(.*), batch (\\d+)(.*)");

  /** What a row has been measured to take, in each run, and the bytes that Java allocated. */
  private static final class Row {
    final List<Double> java = new ArrayList<>();
    final List<Double> c = new ArrayList<>();
    final List<Double> bytes = new ArrayList<>();

    /** Returns the ratios of the runs. */
    double[] ratios() {
      double[] ratios = new double[Math.min(java.size(), c.size())];
      Arrays.setAll(ratios, i -> java.get(i) / c.get(i));
      return ratios;
    }

    double ratio() {
      return median(ratios());
    }

    static Row sum(Row a, Row b) {
      Row sum = new Row();
      sum(a.java, b.java, sum.java);
      sum(a.c, b.c, sum.c);
      sum(a.bytes, b.bytes, sum.bytes);
      return sum;
    }

    private static void sum(List<Double> a, List<Double> b, List<Double> sums) {
      for (int i = 0; i < Math.min(a.size(), b.size()); i++) {
        sums.add(a.get(i) + b.get(i));
      }
    }
  }

  private Compare() {}

  /** Compares files. */
  public static void main(String[] arguments) throws IOException, ReflectiveOperationException {
    List<String> files = new ArrayList<>(List.of(arguments));
    int chart = files.indexOf("--chart");
    if (chart >= 0) {
      files.remove(chart);
      Files.writeString(Path.of(files.remove(chart)), chart(read(files.getFirst())));
    }
    if (files.size() == 1) {
      print(read(files.getFirst()));
    } else {
      print(read(files.getFirst()), read(files.get(1)));
    }
  }

  private static SortedMap<String, Row> read(String file)
      throws IOException, ReflectiveOperationException {
    SortedMap<String, Row> rows = new TreeMap<>();
    List<String> heads = List.of();
    for (String line : Files.readAllLines(Path.of(file))) {
      List<String> cells = List.of(line.replace("\"", "").split(",", -1));
      if (cells.getFirst().equals("Benchmark")) {
        heads = cells;
      } else {
        Map<String, String> row = new LinkedHashMap<>();
        for (int i = 0; i < heads.size(); i++) {
          row.put(heads.get(i).replace("Param: ", ""), cells.get(i));
        }
        add(rows, row);
      }
    }
    SortedMap<String, Row> all = new TreeMap<>(rows);
    rows.forEach(
        (name, post) -> {
          Row poll = rows.get(name.replaceFirst("^post,", "poll,"));
          if (name.startsWith("post,") && poll != null) {
            all.put(name.replaceFirst("post", "post and poll"), Row.sum(post, poll));
          }
        });
    return all;
  }

  private static void add(Map<String, Row> rows, Map<String, String> cells)
      throws ReflectiveOperationException {
    String[] benchmark = cells.get("Benchmark").split(":", 2);
    String result = benchmark.length == 1 ? "" : benchmark[1];
    boolean isSample = cells.get("Mode").equals("sample");
    boolean isBytes = result.equals("gc.alloc.rate.norm");
    List<String> wanted = List.of("gc.alloc.rate.norm", isSample ? "p0.50" : "", "c", "medians");
    boolean isOfC = result.equals("c") || result.equals("medians");
    if (!wanted.contains(result) || (isOfC && !cells.get("c").equals("true"))) {
      return;
    }
    int dot = benchmark[0].lastIndexOf('.');
    String owner = benchmark[0].substring(0, dot);
    boolean isDataPath = owner.equals(DataPath.class.getName());
    double value = Double.parseDouble(cells.get("Score"));
    if (isDataPath && !result.equals("medians")) {
      value /= MeasuredLoop.REQUESTS;
      if (!isBytes && !benchmark[0].endsWith("Empty")) {
        value *= Integer.parseInt(cells.get("batch"));
      }
    }
    String name = benchmark[0].substring(dot + 1) + choices(owner, cells);
    Row row = rows.computeIfAbsent(name, _ -> new Row());
    switch (result) {
      case "gc.alloc.rate.norm" -> row.bytes.add(value);
      case "c" -> row.c.add(value);
      case "medians" -> row.c.add(row.c.removeLast() / value); // That was the sum of these.
      default -> row.java.add(value);
    }
  }

  /** Describes the parameters of a row; the batch comes first, and always. */
  private static String choices(String owner, Map<String, String> cells)
      throws ReflectiveOperationException {
    StringBuilder text = new StringBuilder();
    String batch = cells.get("batch");
    if (batch != null && !batch.isEmpty()) {
      text.append(", batch ").append(batch);
    }
    for (var field : Class.forName(owner + "$Choice").getFields()) {
      String name = field.getName();
      String value = cells.get(name);
      boolean isUsual =
          value == null
              || value.isEmpty()
              || field.getAnnotation(Param.class).value()[0].equals(value);
      if (!isUsual && !List.of("batch", "device", "c").contains(name)) {
        text.append(", ").append(name).append(' ').append(value);
      }
    }
    if (!cells.get("Threads").equals("1")) {
      text.append(", ").append(cells.get("Threads")).append(" threads");
    }
    String mode = cells.get("Mode");
    return mode.equals("sample") ? "" + text : text + ", " + mode;
  }

  private static double median(List<Double> values) {
    return median(values.stream().mapToDouble(Double::doubleValue).toArray());
  }

  private static double median(double[] values) {
    Arrays.sort(values);
    return values.length == 0
        ? Double.NaN
        : (values[(values.length - 1) / 2] + values[values.length / 2]) / 2;
  }

  private static void print(Map<String, Row> rows) {
    System.out.println("| round | Java | C | Java : C | range | runs | bytes |");
    System.out.println("|---|---:|---:|---:|---:|---:|---:|");
    rows.forEach(
        (name, row) -> {
          double[] ratios = row.ratios();
          Arrays.sort(ratios);
          String range =
              ratios.length < 2
                  ? ""
                  : "%.2f to %.2f".formatted(ratios[0], ratios[ratios.length - 1]);
          System.out.printf(
              Locale.ROOT,
              "| %s | %s | %s | %s | %s | %d | %s |%n",
              name,
              number("%.1f", median(row.java)),
              number("%.1f", median(row.c)),
              number("%.2f", row.ratio()),
              range,
              row.java.size(),
              number("%.0f", median(row.bytes)));
        });
  }

  private static void print(Map<String, Row> then, Map<String, Row> now) {
    System.out.println("| round | then | now | now : then | Java : C then | now |");
    System.out.println("|---|---:|---:|---:|---:|---:|");
    now.forEach(
        (name, row) -> {
          Row before = then.getOrDefault(name, new Row());
          System.out.printf(
              Locale.ROOT,
              "| %s | %s | %s | %s | %s | %s |%n",
              name,
              number("%.1f", median(before.java)),
              number("%.1f", median(row.java)),
              number("%.2f", median(row.java) / median(before.java)),
              number("%.2f", before.ratio()),
              number("%.2f", row.ratio()));
        });
  }

  private static String number(String format, double value) {
    return Double.isNaN(value) ? "" : String.format(Locale.ROOT, format, value);
  }

  /** Draws a line for each row of which several sizes of a batch are known beside C. */
  private static String chart(SortedMap<String, Row> rows) {
    Map<String, List<double[]>> lines = new TreeMap<>();
    rows.forEach(
        (name, row) -> {
          var parts = BATCH.matcher(name);
          // The sum of a post and a poll stands for both.
          String sum = name.replaceFirst("^(post|poll),", "post and poll,");
          boolean isPart = !sum.equals(name) && rows.containsKey(sum);
          if (parts.matches() && !Double.isNaN(row.ratio()) && !isPart) {
            lines
                .computeIfAbsent(parts.group(1) + parts.group(3), _ -> new ArrayList<>())
                .add(new double[] {Integer.parseInt(parts.group(2)), row.ratio()});
          }
        });
    List<Chart.Line> drawn = new ArrayList<>();
    lines.forEach(
        (name, points) -> {
          if (points.size() > 1) {
            points.sort(Comparator.comparingDouble(point -> point[0]));
            drawn.add(new Chart.Line(name, points));
          }
        });
    double most =
        drawn.stream()
            .flatMap(line -> line.points().stream())
            .mapToDouble(point -> point[1])
            .max()
            .orElse(1);
    return new Chart(
            "Time in Java as a multiple of the time in C",
            "",
            new Axis("requests of a batch", 1, 32, Axis.Scale.LOGARITHMIC),
            new Axis("Java : C", 0, Math.ceil(most), Axis.Scale.LINEAR),
            drawn)
        .svg();
  }
}
