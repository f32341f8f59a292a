package dev.verbena.tools;

import java.io.PrintWriter;
import java.util.List;
import java.util.Map;

/** Writes a tree of maps and lists as indented lines of name and value. */
final class Outline {
  private static final int VALUES_AT = 34;

  private Outline() {}

  static void print(Map<String, Object> tree, PrintWriter out) {
    print(tree, "", out);
    out.println();
  }

  private static void print(Map<?, ?> tree, String indent, PrintWriter out) {
    tree.forEach((name, value) -> print(name.toString(), value, indent, out));
  }

  private static void print(String name, Object value, String indent, PrintWriter out) {
    switch (value) {
      case Map<?, ?> map -> {
        out.println(indent + name + ":");
        print(map, indent + "    ", out);
      }
      case List<?> list when !list.isEmpty() && list.getFirst() instanceof Map<?, ?> first -> {
        out.println(indent + name + ":");
        if (first.containsKey("gid")) {
          table(list, indent + "    ", out);
        } else {
          list.forEach(item -> print((Map<?, ?>) item, indent + "    ", out));
        }
      }
      case List<?> list -> line(name, list.isEmpty() ? "none" : join(list), indent, out);
      default -> line(name, value.toString(), indent, out);
    }
  }

  private static String join(List<?> list) {
    return String.join(", ", list.stream().map(Object::toString).toList());
  }

  private static void line(String name, String value, String indent, PrintWriter out) {
    String label = indent + name + ":";
    out.println(label + " ".repeat(Math.max(1, VALUES_AT - label.length())) + value);
  }

  /** Writes rows as a table: GIDs are compared by column. */
  private static void table(List<?> rows, String indent, PrintWriter out) {
    for (Object row : rows) {
      Map<?, ?> gid = (Map<?, ?>) row;
      out.printf(
          "%s%3s  %-39s  %-8s  %-12s %s%n",
          indent,
          gid.get("index"),
          gid.get("gid"),
          gid.get("type"),
          gid.get("interface"),
          gid.get("ip"));
    }
  }
}
