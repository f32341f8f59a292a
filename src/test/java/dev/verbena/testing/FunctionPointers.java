package dev.verbena.testing;

import dev.verbena.internal.foreign.Abi;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.GroupLayout;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodType;
import java.lang.reflect.InvocationTargetException;
import java.util.Optional;
import java.util.function.BiFunction;

/** Fills the function pointers of a C struct with Java, all of them, by name. */
public final class FunctionPointers {
  private FunctionPointers() {}

  /**
   * Fills a struct.
   *
   * @param raw the struct's class of the raw floor
   * @param layout the struct's layout, as that class has it
   * @param struct the struct, as large as this machine's C has it
   * @param upcalls makes the pointers
   * @param functions what stands behind each pointer: a handle of the given type, in which pointers
   *     are long
   */
  public static void fill(
      Class<?> raw,
      GroupLayout layout,
      MemorySegment struct,
      JavaFunctions upcalls,
      BiFunction<String, MethodType, MethodHandle> functions) {
    for (Class<?> pointer : raw.getClasses()) {
      type(pointer)
          .ifPresent(
              type ->
                  struct.set(
                      ValueLayout.ADDRESS,
                      Abi.current().offsetOf(layout, pointer.getSimpleName()),
                      upcalls.stub(functions.apply(pointer.getSimpleName(), type))));
    }
  }

  /** The type of a function pointer's class; empty for other nested classes. */
  private static Optional<MethodType> type(Class<?> pointer) {
    try {
      FunctionDescriptor c = (FunctionDescriptor) pointer.getMethod("descriptor").invoke(null);
      Class<?> result = c.returnLayout().<Class<?>>map(FunctionPointers::java).orElse(void.class);
      return Optional.of(
          MethodType.methodType(
              result, c.argumentLayouts().stream().map(FunctionPointers::java).toList()));
    } catch (NoSuchMethodException e) {
      return Optional.empty();
    } catch (IllegalAccessException | InvocationTargetException e) {
      throw new IllegalArgumentException(pointer.toString(), e);
    }
  }

  private static Class<?> java(MemoryLayout layout) {
    Class<?> carrier = ((ValueLayout) layout).carrier();
    return carrier == MemorySegment.class ? long.class : carrier;
  }
}
