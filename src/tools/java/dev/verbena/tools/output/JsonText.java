package dev.verbena.tools.output;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Reads JSON as maps, lists, text, numbers, booleans and null. */
public final class JsonText {
  private static final int MAX_DEPTH = 100;

  private final String text;
  private int at;
  private int depth;

  private JsonText(String text) {
    this.text = text;
  }

  /**
   * Parses a text.
   *
   * @throws IllegalArgumentException if it is not JSON; the message has the position
   */
  public static @Nullable Object parse(String text) {
    JsonText reader = new JsonText(text);
    Object value = reader.value();
    reader.space();
    if (reader.at < text.length()) {
      throw reader.wrong("the end");
    }
    return value;
  }

  private IllegalArgumentException wrong(String expected) {
    return new IllegalArgumentException("expected " + expected + " at character " + at);
  }

  private void space() {
    while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
      at++;
    }
  }

  private char peek() {
    space();
    return at < text.length() ? text.charAt(at) : 0;
  }

  private boolean takes(char wanted) {
    if (peek() != wanted) {
      return false;
    }
    at++;
    return true;
  }

  private void require(char wanted) {
    if (!takes(wanted)) {
      throw wrong("'" + wanted + "'");
    }
  }

  private @Nullable Object value() {
    depth++;
    if (depth > MAX_DEPTH) {
      throw wrong("at most " + MAX_DEPTH + " levels");
    }
    Object value =
        switch (peek()) {
          case '{' -> object();
          case '[' -> array();
          case '"' -> string();
          case 't' -> word("true", true);
          case 'f' -> word("false", false);
          case 'n' -> word("null", null);
          default -> number();
        };
    depth--;
    return value;
  }

  private @Nullable Object word(String word, @Nullable Object value) {
    if (!text.startsWith(word, at)) {
      throw wrong(word);
    }
    at += word.length();
    return value;
  }

  private Map<String, @Nullable Object> object() {
    Map<String, @Nullable Object> map = new LinkedHashMap<>();
    require('{');
    if (takes('}')) {
      return map;
    }
    do {
      if (peek() != '"') {
        throw wrong("a name");
      }
      String name = string();
      require(':');
      map.put(name, value());
    } while (takes(','));
    require('}');
    return map;
  }

  private List<@Nullable Object> array() {
    List<@Nullable Object> list = new ArrayList<>();
    require('[');
    if (takes(']')) {
      return list;
    }
    do {
      list.add(value());
    } while (takes(','));
    require(']');
    return list;
  }

  private String string() {
    require('"');
    StringBuilder string = new StringBuilder();
    while (at < text.length()) {
      char c = text.charAt(at++);
      if (c == '"') {
        return string.toString();
      }
      if (c < ' ') {
        throw wrong("no control character");
      }
      string.append(c == '\\' ? escaped() : c);
    }
    throw wrong("'\"'");
  }

  private char escaped() {
    char c = at < text.length() ? text.charAt(at++) : 0;
    return switch (c) {
      case '"', '\\', '/' -> c;
      case 'n' -> '\n';
      case 't' -> '\t';
      case 'r' -> '\r';
      case 'b' -> '\b';
      case 'f' -> '\f';
      case 'u' -> unicode();
      default -> throw wrong("an escape");
    };
  }

  private char unicode() {
    try {
      char c = (char) Integer.parseInt(text, at, at + 4, 16);
      at += 4;
      return c;
    } catch (IndexOutOfBoundsException | NumberFormatException e) {
      throw wrong("four hexadecimal digits");
    }
  }

  private Double number() {
    int from = at;
    while (at < text.length() && "+-.eE0123456789".indexOf(text.charAt(at)) >= 0) {
      at++;
    }
    try {
      return Double.valueOf(text.substring(from, at));
    } catch (NumberFormatException e) {
      at = from;
      throw wrong("a value");
    }
  }
}
