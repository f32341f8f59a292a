package dev.verbena.attributes;

import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * A counter of a device or a port, with its unit and what a rising value means, for programs that
 * export metrics: {@link Statistics#counters}.
 *
 * <p>Counters have the names that the kernel gives them. Drivers may have counters of which this
 * library has no description.
 */
public final class Counter {
  private final OptionalInt port;
  private final boolean ofDriver;
  private final String name;
  private final long value;
  private final @Nullable CounterMeaning meaning;

  Counter(OptionalInt port, boolean ofDriver, String name, long value) {
    this.port = port;
    this.ofDriver = ofDriver;
    this.name = name;
    this.value = value;
    this.meaning = CounterMeaning.of(name);
  }

  /**
   * {@return the port, counted from 1, that the counter belongs to; empty for a counter of the
   * whole device}
   */
  public OptionalInt port() {
    return port;
  }

  /**
   * {@return whether the driver defines the counter ({@code hw_counters}), and not the InfiniBand
   * specification ({@code counters})} Both may have a counter of the same name.
   */
  public boolean isOfDriver() {
    return ofDriver;
  }

  /** {@return the kernel's name of the counter, for example {@code out_of_sequence}} */
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
