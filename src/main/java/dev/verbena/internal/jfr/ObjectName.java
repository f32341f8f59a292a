package dev.verbena.internal.jfr;

/** The name of an object in events and in messages: which one it is, but not what it is like. */
public final class ObjectName {
  private ObjectName() {}

  /** {@return the string of an object without what is in parentheses} It is always the same. */
  public static String of(Object object) {
    String text = String.valueOf(object);
    int end = text.indexOf(" (");
    return end < 0 ? text : text.substring(0, end);
  }
}
