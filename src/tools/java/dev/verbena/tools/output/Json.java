package dev.verbena.tools.output;

import java.util.Iterator;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Writes maps, lists, numbers, booleans and text as JSON, indented. */
public final class Json {
  private final StringBuilder out = new StringBuilder();

  private Json() {}

  public static String of(@Nullable Object value) {
    Json json = new Json();
    json.value(value, "\n");
    return json.out.toString();
  }

  private void value(@Nullable Object value, String newLine) {
    switch (value) {
      case null -> out.append("null");
      case Map<?, ?> map -> map(map, newLine);
      case Iterable<?> list -> list(list, newLine);
      case Double number when !Double.isFinite(number) -> out.append("null");
      case Number number -> out.append(number);
      case Boolean truth -> out.append(truth);
      default -> text(value.toString());
    }
  }

  private void map(Map<?, ?> map, String newLine) {
    String separator = "";
    out.append('{');
    for (Map.Entry<?, ?> entry : map.entrySet()) {
      out.append(separator).append(newLine).append("  ");
      text(entry.getKey().toString());
      out.append(": ");
      value(entry.getValue(), newLine + "  ");
      separator = ",";
    }
    out.append(map.isEmpty() ? "" : newLine).append('}');
  }

  private void list(Iterable<?> list, String newLine) {
    Iterator<?> items = list.iterator();
    if (!items.hasNext()) {
      out.append("[]");
      return;
    }
    String separator = "";
    out.append('[');
    while (items.hasNext()) {
      out.append(separator).append(newLine).append("  ");
      value(items.next(), newLine + "  ");
      separator = ",";
    }
    out.append(newLine).append(']');
  }

  private void text(String text) {
    out.append('"');
    text.chars().forEach(this::character);
    out.append('"');
  }

  private void character(int c) {
    switch (c) {
      case '"' -> out.append("\\\"");
      case '\\' -> out.append("\\\\");
      case '\n' -> out.append("\\n");
      case '\t' -> out.append("\\t");
      case '\r' -> out.append("\\r");
      default -> {
        if (c < 0x20) {
          out.append(String.format("\\u%04x", c));
        } else {
          out.append((char) c);
        }
      }
    }
  }
}
