package dev.verbena.tools;

import dev.verbena.tools.output.Chart;
import java.util.Map;

/**
 * What was measured of one size, as it is written.
 *
 * @param size the number of bytes of a message
 * @param count the number of operations that were measured
 * @param cells the cells of a row, by title
 * @param values the comma-separated values, by title
 * @param tree JSON
 * @param text what stands behind the title if there is only this size
 * @param points the points of a chart of several sizes, by the name of their line
 * @param chart the chart if there is only this size
 */
record PerfResult(
    int size,
    long count,
    Map<String, String> cells,
    Map<String, Object> values,
    Map<String, Object> tree,
    String text,
    Map<String, Double> points,
    Chart chart) {}
