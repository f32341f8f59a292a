package dev.verbena.tools.output;

import java.math.BigDecimal;
import java.math.MathContext;
import java.util.ArrayList;
import java.util.DoubleSummaryStatistics;
import java.util.List;

/**
 * An axis of a chart, with marks at 1, 2, 5, 10 and so on.
 *
 * @param name the name
 * @param from the least value
 * @param to the largest value
 * @param scale which lengths are equal
 */
public record Axis(String name, double from, double to, Scale scale) {
  private static final double SPAN = 100;
  private static final int STEPS = 5;
  private static final int MAX_MARKS = 13;
  private static final MathContext DIGITS = new MathContext(6);

  /** Which lengths are equal. */
  public enum Scale {
    /** Those of equal differences. */
    LINEAR,
    /** Those of equal ratios. */
    LOGARITHMIC,
    /** Those of equal ratios of sizes, which are labelled with units. */
    SIZES,
    /** That from 0 to 90 %, from there to 99 %, to 99.9 % and so on. */
    PERCENTILES
  }

  /**
   * Returns the axis for some values: logarithmic if the largest is a hundred times the smallest.
   */
  static Axis of(String name, DoubleSummaryStatistics values) {
    double least = values.getMin();
    double most = values.getMax();
    if (least > 0 && most / least >= SPAN) {
      return new Axis(name, round(least, false), round(most, true), Scale.LOGARITHMIC);
    }
    double to = values.getCount() == 0 ? 1 : Math.max(most, 1e-9);
    double step = step(to);
    return new Axis(name, 0, step * Math.ceil(to / step - 1e-9), Scale.LINEAR);
  }

  /** Returns the axis for sizes of messages. */
  static Axis ofSizes(String name, DoubleSummaryStatistics sizes) {
    double least = sizes.getCount() == 0 ? 1 : sizes.getMin();
    return new Axis(name, least, Math.max(sizes.getMax(), 2 * least), Scale.SIZES);
  }

  /** Returns the axis for percentiles of a number of samples, the last mark of which it has. */
  public static Axis ofPercentiles(long samples) {
    double nines = Math.max(1, Math.ceil(Math.log10((double) samples)));
    return new Axis("percentile", 0, percentile(nines), Scale.PERCENTILES);
  }

  private static double percentile(double nines) {
    return 100 - 100 / Math.pow(10, nines);
  }

  private static double step(double length) {
    return round(length / STEPS, true);
  }

  /** Returns the next number of the series 1, 2, 5, 10. */
  private static double round(double value, boolean up) {
    double decade = Math.pow(10, Math.floor(Math.log10(value) + 1e-9));
    double digit = value / decade;
    if (up) {
      return decade * (digit <= 1 + 1e-9 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
    }
    return decade * (digit < 2 ? 1 : digit < 5 ? 2 : 5);
  }

  /** Returns where a value is, from 0 to 1. */
  double fraction(double value) {
    return (position(value) - position(from)) / (position(to) - position(from));
  }

  private double position(double value) {
    return switch (scale) {
      case LINEAR -> value;
      case LOGARITHMIC, SIZES -> Math.log(value);
      case PERCENTILES -> -Math.log10(1 - Math.min(value, to) / 100);
    };
  }

  /** Returns the values that have a label. */
  List<Double> marks() {
    List<Double> marks = new ArrayList<>();
    switch (scale) {
      case LINEAR -> {
        double step = step(to);
        for (int i = 0; i * step <= to * (1 + 1e-9); i++) {
          marks.add(i * step);
        }
      }
      case LOGARITHMIC -> {
        boolean isLong = Math.log10(to / from) > 4;
        double mark = isLong ? Math.pow(10, Math.ceil(Math.log10(from) - 1e-9)) : from;
        for (; mark <= to * (1 + 1e-9); mark = isLong ? 10 * mark : round(1.5 * mark, true)) {
          marks.add(mark);
        }
      }
      case SIZES -> {
        double base = 2;
        while (Math.log(to / from) / Math.log(base) >= MAX_MARKS) {
          base *= base;
        }
        for (double mark = from; mark <= to * (1 + 1e-9); mark *= base) {
          marks.add(mark);
        }
      }
      case PERCENTILES -> {
        for (int nines = 0; percentile(nines) <= to; nines++) {
          marks.add(percentile(nines));
        }
      }
    }
    return marks;
  }

  String label(double mark) {
    if (scale == Scale.SIZES) {
      return Units.bytes(Math.round(mark));
    }
    return new BigDecimal(mark).round(DIGITS).stripTrailingZeros().toPlainString();
  }
}
