package dev.verbena.fake;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.stream.Collectors;

/**
 * Functions that keep a record of their calls and return what they are told to. The first argument,
 * the object that the function belongs to, is left out of the record.
 */
public final class RecordingFunctions implements BiFunction<String, MethodType, MethodHandle> {
  private static final MethodHandle CALLED;

  static {
    try {
      CALLED =
          MethodHandles.lookup()
              .findVirtual(
                  RecordingFunctions.class,
                  "called",
                  MethodType.methodType(Object.class, String.class, Object[].class));
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final List<String> calls = new ArrayList<>();
  private final Map<String, List<Object>> results = new HashMap<>();
  private BiFunction<String, Long, String> note = (name, object) -> "";

  /** Lets a function return some values, one after the other, and the last one for ever. */
  public RecordingFunctions returning(String function, Object... values) {
    results.put(function, new ArrayList<>(List.of(values)));
    return this;
  }

  /** Adds something to the record of each call, that depends on the function and its object. */
  public RecordingFunctions noting(BiFunction<String, Long, String> noted) {
    note = noted;
    return this;
  }

  /** What was called since this was last asked, as {@code name(argument, ...)}. */
  public List<String> taken() {
    List<String> taken = List.copyOf(calls);
    calls.clear();
    return taken;
  }

  @Override
  public MethodHandle apply(String name, MethodType type) {
    // Unlike asType, this makes 0 of null, and a byte of an Integer.
    return MethodHandles.explicitCastArguments(
        CALLED.bindTo(this).bindTo(name).asCollector(Object[].class, type.parameterCount()), type);
  }

  @SuppressWarnings("UnusedMethod") // Called through CALLED.
  private Object called(String name, Object[] arguments) {
    calls.add(
        Arrays.stream(arguments)
                .skip(1)
                .map(Object::toString)
                .collect(Collectors.joining(", ", name + "(", ")"))
            + note.apply(name, (Long) arguments[0]));
    List<Object> values = results.get(name);
    if (values == null) {
      return null;
    }
    return values.size() > 1 ? values.removeFirst() : values.getFirst();
  }
}
