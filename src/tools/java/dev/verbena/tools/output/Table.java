package dev.verbena.tools.output;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Rows of text, printed in columns that are as wide as needed. */
public final class Table {
  private final List<List<String>> rows = new ArrayList<>();

  public Table(List<String> titles) {
    row(titles);
  }

  public void row(List<String> cells) {
    rows.add(cells);
  }

  public void print(PrintWriter out) {
    int[] widths =
        IntStream.range(0, rows.getFirst().size())
            .map(column -> rows.stream().mapToInt(row -> row.get(column).length()).max().orElse(0))
            .toArray();
    for (List<String> row : rows) {
      out.println(
          IntStream.range(0, widths.length)
              .mapToObj(column -> padded(row.get(column), widths[column]))
              .collect(Collectors.joining("  "))
              .stripTrailing());
    }
  }

  private static String padded(String cell, int width) {
    return cell + " ".repeat(width - cell.length());
  }
}
