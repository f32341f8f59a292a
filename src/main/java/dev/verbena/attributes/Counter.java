package dev.verbena.attributes;

import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * A counter of a device, a port or of connections, with its unit and what a rising value means, for
 * programs that export {@index metrics}: {@link Statistics#counters}.
 *
 * <p>Counters of devices have the names that the kernel gives them. Drivers may have counters of
 * which this library has no description.
 */
public final class Counter {
  private final OptionalInt port;
  private final String group;
  private final String name;
  private final long value;
  private final @Nullable CounterMeaning meaning;

  Counter(OptionalInt port, String group, String name, long value) {
    this.port = port;
    this.group = group;
    this.name = name;
    this.value = value;
    this.meaning = CounterMeaning.of(name);
  }

  /**
   * {@return the port, counted from 1, that the counter belongs to; empty for one of the whole
   * device or of connections}
   */
  public OptionalInt port() {
    return port;
  }

  /**
   * {@return what defines the counter: {@code counters} is the InfiniBand specification, {@code
   * hw_counters} the driver, {@code messages} this library} Two groups may have a counter of the
   * same name.
   */
  public String group() {
    return group;
  }

  /** {@return the name of the counter, for example {@code out_of_sequence}} */
  public String name() {
    return name;
  }

  /** {@return the value, unsigned} It only rises, until it overflows or the driver starts again. */
  public long value() {
    return value;
  }

  /**
   * {@return what is counted, for example {@code packets}, {@code words of 4 bytes}, {@code
   * requests}; empty if it is not known}
   */
  public String unit() {
    return meaning == null ? "" : meaning.unit();
  }

  /** {@return a sentence on what a rising value means; empty if the counter is not known} */
  public String description() {
    return meaning == null ? "" : meaning.description();
  }

  @Override
  public String toString() {
    return name + " = " + Long.toUnsignedString(value) + (unit().isEmpty() ? "" : " " + unit());
  }
}
