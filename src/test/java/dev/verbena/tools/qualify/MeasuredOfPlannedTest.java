package dev.verbena.tools.qualify;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The sentence of a report on how many measurements with a peer there are. */
class MeasuredOfPlannedTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          measured, measured; the rate was not reached | With a peer: 2 of 2 measured.
          measured, no time left, no time left | With a peer, incomplete: 1 of 3 measured, 2 had no time left.
          measured, failed: x, no time left | With a peer, incomplete: 1 of 3 measured, 1 had no time left, 1 failed or not possible.
          not measured: y | With a peer: 0 of 1 measured, 1 failed or not possible.
          """)
  void measurementsWithoutTimeAreCounted(String results, String sentence) {
    List<Map<String, String>> rows =
        Arrays.stream(results.split(", ")).map(result -> Map.of("result", result)).toList();
    assertEquals(sentence + "\n", Pages.measurements(Map.of("peer", rows)));
  }

  @Test
  void withoutAPeerThereIsNone() {
    assertEquals("", Pages.measurements(Map.of("peer", List.of())));
  }
}
