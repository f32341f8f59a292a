package dev.verbena.tools.output;

import java.util.ArrayList;
import java.util.DoubleSummaryStatistics;
import java.util.List;
import java.util.Locale;

/**
 * An axis of a chart: linear from 0, or logarithmic if the values span decades.
 *
 * @param name its name
 * @param from the value at its begin
 * @param to the value at its end
 * @param logarithmic whether equal distances are equal ratios
 * @param bytes whether values are sizes, which are labelled with units
 */
public record Axis(String name, double from, double to, boolean logarithmic, boolean bytes) {
  private static final int STEPS = 5;
  private static final double SPAN = 100;
  private static final int MAX_MARKS = 13;

  /**
   * Returns the axis for some values: logarithmic if the largest is a hundred times the smallest.
   */
  static Axis of(String name, DoubleSummaryStatistics values) {
    double least = values.getMin();
    double most = values.getMax();
    if (least > 0 && most / least >= SPAN) {
      return new Axis(name, decade(least, false), decade(most, true), true, false);
    }
    return new Axis(name, 0, values.getCount() == 0 ? 1 : Math.max(most, 1e-9), false, false);
  }

  /** Returns the axis for sizes of messages, which is logarithmic. */
  static Axis ofSizes(String name, DoubleSummaryStatistics sizes) {
    double least = sizes.getCount() == 0 ? 1 : sizes.getMin();
    return new Axis(name, least, Math.max(sizes.getMax(), 2 * least), true, true);
  }

  private static double decade(double value, boolean up) {
    double log = Math.log10(value);
    return Math.pow(10, up ? Math.ceil(log - 1e-9) : Math.floor(log + 1e-9));
  }

  /** Returns where a value is, from 0 to 1. */
  double fraction(double value) {
    return logarithmic
        ? Math.log(value / from) / Math.log(to / from)
        : (value - from) / (to - from);
  }

  /** Returns the values that have a label. */
  List<Double> marks() {
    List<Double> marks = new ArrayList<>();
    if (!logarithmic) {
      for (int i = 0; i <= STEPS; i++) {
        marks.add(from + (to - from) * i / STEPS);
      }
      return marks;
    }
    double base = bytes ? 2 : 10;
    while (Math.log(to / from) / Math.log(base) >= MAX_MARKS) {
      base *= base;
    }
    for (double mark = from; mark <= to * (1 + 1e-9); mark *= base) {
      marks.add(mark);
    }
    return marks;
  }

  String label(double mark) {
    if (bytes) {
      return Units.bytes(Math.round(mark));
    }
    if (logarithmic) {
      return mark >= 1 ? String.format(Locale.ROOT, "%.0f", mark) : "" + (float) mark;
    }
    return String.format(Locale.ROOT, mark < 10 ? "%.2f" : "%.0f", mark);
  }
}
