package dev.verbena.tools.output;

import com.google.gson.Gson;
import com.google.gson.JsonParseException;
import com.google.gson.Strictness;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import com.google.gson.stream.JsonWriter;
import java.io.IOException;
import java.io.StringReader;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** JSON as maps, lists, text, numbers, booleans and null. */
public final class Json {
  private static final Gson READER = new Gson();

  private Json() {}

  /** Returns a value as JSON, indented. */
  public static String of(@Nullable Object value) {
    StringWriter text = new StringWriter();
    try (JsonWriter out = new JsonWriter(text)) {
      out.setIndent("  ");
      write(value, out);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return text.toString();
  }

  private static void write(@Nullable Object value, JsonWriter out) throws IOException {
    switch (value) {
      case Map<?, ?> map -> {
        out.beginObject();
        for (Map.Entry<?, ?> entry : map.entrySet()) {
          out.name(entry.getKey().toString());
          write(entry.getValue(), out);
        }
        out.endObject();
      }
      case Iterable<?> list -> {
        out.beginArray();
        for (Object item : list) {
          write(item, out);
        }
        out.endArray();
      }
      case Double number when !Double.isFinite(number) -> out.nullValue();
      case Number number -> out.value(number);
      case Boolean truth -> out.value(truth);
      case null -> out.nullValue();
      default -> out.value(value.toString());
    }
  }

  /**
   * Parses a text.
   *
   * @throws IllegalArgumentException if it is not JSON; the message has the position
   */
  public static @Nullable Object parse(String text) {
    try (JsonReader in = new JsonReader(new StringReader(text))) {
      in.setStrictness(Strictness.STRICT);
      JsonToken _ = in.peek(); // Throws if there is nothing.
      Object value = READER.fromJson(in, Object.class);
      if (in.peek() != JsonToken.END_DOCUMENT) {
        throw new IllegalArgumentException("more than one value");
      }
      return value;
    } catch (IOException | JsonParseException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
  }
}
