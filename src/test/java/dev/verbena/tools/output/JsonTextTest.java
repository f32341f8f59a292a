package dev.verbena.tools.output;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** JSON that is read. */
class JsonTextTest {
  @Test
  void readsWhatIsWritten() {
    Map<String, Object> tree =
        Map.of(
            "text", "a\"\\\n\t\u0001ü", "list", List.of(1.5, true, Map.of()), "empty", List.of());
    assertEquals(tree, JsonText.parse(Json.of(tree)));
    assertEquals(Arrays.asList(null, -2e3), JsonText.parse(" [null,\r\n-2e3 ] "));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "{",
        "[1",
        "[1,]",
        "{\"a\"}",
        "{1:2}",
        "\"a",
        "tru",
        "1 2",
        "\"\\x\"",
        "\"\\u12\"",
        "--"
      })
  void wrongTextIsRefused(String text) {
    assertThrows(IllegalArgumentException.class, () -> JsonText.parse(text));
  }

  @Test
  void depthIsLimited() {
    assertThrows(IllegalArgumentException.class, () -> JsonText.parse("[".repeat(100_000)));
  }
}
