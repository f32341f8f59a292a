package dev.verbena.tools.output;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

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
}
