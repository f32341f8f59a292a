package dev.verbena.tools.output;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JsonTest {
  @Test
  void treesAreIndented() {
    Map<String, Object> tree = new LinkedHashMap<>();
    tree.put("name", "rxe0");
    tree.put("ports", List.of(Map.of("mtu", 1024)));
    tree.put("none", List.of());
    tree.put("ok", true);
    assertEquals(
        """
        {
          "name": "rxe0",
          "ports": [
            {
              "mtu": 1024
            }
          ],
          "none": [],
          "ok": true
        }\
        """,
        Json.of(tree));
  }

  @Test
  void unrepresentableValuesAreEscapedOrNull() {
    assertEquals("\"a\\\"b\\\\c\\nd\\u0001\"", Json.of("a\"b\\c\nd\u0001"));
    assertEquals("null", Json.of(Double.NaN));
  }

  @Test
  void readsWhatIsWritten() {
    Map<String, Object> tree =
        Map.of(
            "text", "a\"\\\n\t\u0001ü", "list", List.of(1.5, true, Map.of()), "empty", List.of());
    assertEquals(tree, Json.parse(Json.of(tree)));
    assertEquals(Arrays.asList(null, -2e3), Json.parse(" [null,\r\n-2e3 ] "));
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
    assertThrows(IllegalArgumentException.class, () -> Json.parse(text));
  }

  @Test
  void depthIsLimited() {
    assertThrows(IllegalArgumentException.class, () -> Json.parse("[".repeat(100_000)));
  }
}
