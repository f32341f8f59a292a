package dev.verbena.internal;

import dev.verbena.testing.JavaFunctions;
import dev.verbena.testing.NativeErrno;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;

/** A C function that returns what a test wants, leaves an errno, and keeps its arguments. */
final class RecordingFunction {
  private static final MethodHandle CALLED;

  static {
    try {
      CALLED =
          MethodHandles.lookup()
              .findVirtual(
                  RecordingFunction.class,
                  "called",
                  MethodType.methodType(Object.class, Object[].class));
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final Class<?> resultType;
  private final MemorySegment pointer;
  private Object[] arguments;
  private long result;
  private int errno;

  /**
   * Stands in for the C function of a seam method.
   *
   * @param status whether the method's {@code void} is a C {@code int}
   */
  RecordingFunction(JavaFunctions upcalls, Method method, boolean status) {
    resultType =
        status && method.getReturnType() == void.class ? int.class : method.getReturnType();
    MethodType type = MethodType.methodType(resultType, method.getParameterTypes());
    pointer =
        upcalls.stub(
            CALLED
                .bindTo(this)
                .asCollector(Object[].class, method.getParameterCount())
                .asType(type));
  }

  @SuppressWarnings("UnusedMethod") // Called through CALLED.
  private Object called(Object[] arguments) {
    this.arguments = arguments;
    NativeErrno.set(errno);
    if (resultType == long.class) {
      return result;
    } else if (resultType == int.class) {
      return (int) result;
    } else if (resultType == short.class) {
      return (short) result;
    }
    return null;
  }

  RecordingFunction returns(long result, int errno) {
    this.result = result;
    this.errno = errno;
    return this;
  }

  MemorySegment pointer() {
    return pointer;
  }

  Object[] arguments() {
    return arguments;
  }

  /** Different values for all parameters, none of them 0. */
  static Object[] distinctArguments(Method method, long first) {
    Class<?>[] types = method.getParameterTypes();
    Object[] values = new Object[types.length];
    for (int i = 0; i < types.length; i++) {
      long value = i == 0 && first != 0 ? first : 0x0102030405060708L * 7 + i;
      if (types[i] == long.class) {
        values[i] = value;
      } else if (types[i] == int.class) {
        values[i] = (int) value;
      } else if (types[i] == short.class) {
        values[i] = (short) value;
      } else {
        values[i] = (byte) value;
      }
    }
    return values;
  }
}
