package dev.verbena.s3;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The bytes of an object that a response has.
 *
 * @param first the index of the first byte
 * @param last that of the last byte
 * @param total the size of the object; negative if it is not known
 */
record Range(long first, long last, long total) {
  private static final Pattern WANTED = Pattern.compile("bytes=(\\d{0,18})-(\\d{0,18})");
  private static final Pattern CONTENT =
      Pattern.compile("bytes (\\d{1,18})-(\\d{1,18})/(\\d{1,18}|\\*)");

  /** Parses {@code Content-Range}. */
  static Optional<Range> ofContent(String value) {
    Matcher matcher = CONTENT.matcher(value);
    if (!matcher.matches()) {
      return Optional.empty();
    }
    long total = matcher.group(3).equals("*") ? -1 : Long.parseLong(matcher.group(3));
    Range range =
        new Range(Long.parseLong(matcher.group(1)), Long.parseLong(matcher.group(2)), total);
    return range.length() > 0 && (total < 0 || range.last < total)
        ? Optional.of(range)
        : Optional.empty();
  }

  long length() {
    return last - first + 1;
  }

  boolean isWhole() {
    return length() == total;
  }

  /** Returns the most bytes that a response to {@code Range} has; -1 if there is no limit. */
  static long limit(String wanted) {
    Matcher matcher = WANTED.matcher(wanted);
    if (!matcher.matches() || matcher.group(2).isEmpty()) {
      return -1;
    }
    long last = Long.parseLong(matcher.group(2));
    long length = matcher.group(1).isEmpty() ? last : last - Long.parseLong(matcher.group(1)) + 1;
    return length > 0 ? length : -1;
  }

  /** Returns whether this is what {@code Range} asks for. */
  boolean answers(String wanted) {
    Matcher matcher = WANTED.matcher(wanted);
    if (!matcher.matches() || matcher.group(2).isEmpty()) {
      return false;
    }
    long end = Long.parseLong(matcher.group(2));
    if (matcher.group(1).isEmpty()) {
      return total < 0 ? length() <= end : last == total - 1 && length() == Math.min(end, total);
    }
    return first == Long.parseLong(matcher.group(1))
        && (total < 0 ? last <= end : last == Math.min(end, total - 1));
  }
}
