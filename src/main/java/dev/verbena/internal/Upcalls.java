package dev.verbena.internal;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Arrays;

/**
 * Function pointers to Java methods, valid for the lifetime of the JVM.
 *
 * <p>An exception that left an upcall would end the JVM. Each pointer therefore converts it into
 * the result by which C reports a failure: NULL and errno for a function that returns a pointer,
 * the errno for one that returns an int. An exception other than {@link VerbsException} is an
 * internal error of the implementation: it is logged, and reported as EIO.
 */
public final class Upcalls {
  private static final System.Logger LOGGER = System.getLogger(Upcalls.class.getName());
  private static final MethodHandle FAILED;

  static {
    try {
      FAILED =
          MethodHandles.lookup()
              .findStatic(
                  Upcalls.class,
                  "failed",
                  MethodType.methodType(Object.class, Class.class, Throwable.class));
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private Upcalls() {}

  /** A pointer to a function whose parameters are long, int, short and byte. */
  public static MemorySegment stub(MethodHandle function) {
    MethodType type = function.type();
    MethodHandle failed =
        MethodHandles.insertArguments(FAILED, 0, type.returnType())
            .asType(MethodType.methodType(type.returnType(), Throwable.class));
    MethodHandle guarded = MethodHandles.catchException(function, Throwable.class, failed);
    return Linker.nativeLinker().upcallStub(guarded, descriptor(type), Arena.global());
  }

  @SuppressWarnings("UnusedMethod") // Called through FAILED.
  private static Object failed(Class<?> result, Throwable t) {
    int errno = Errno.EIO;
    if (t instanceof VerbsException e) {
      errno = e.errno();
    } else {
      LOGGER.log(System.Logger.Level.ERROR, "internal error of the software device", t);
    }
    if (result == void.class) {
      return null;
    } else if (result == long.class) {
      ThreadErrno.set(errno); // The caller of the function reads it next.
      return 0L;
    } else if (result == short.class) {
      return (short) 0;
    } else if (result == byte.class) {
      return (byte) 0;
    }
    return errno;
  }

  /**
   * Returns the C descriptor of a method type made of long, int, short and byte.
   *
   * @param type the method type
   * @return the descriptor
   */
  public static FunctionDescriptor descriptor(MethodType type) {
    MemoryLayout[] parameters =
        Arrays.stream(type.parameterArray()).map(Upcalls::layout).toArray(MemoryLayout[]::new);
    return type.returnType() == void.class
        ? FunctionDescriptor.ofVoid(parameters)
        : FunctionDescriptor.of(layout(type.returnType()), parameters);
  }

  static MemoryLayout layout(Class<?> type) {
    if (type == long.class) {
      return ValueLayout.JAVA_LONG;
    } else if (type == int.class) {
      return ValueLayout.JAVA_INT;
    } else if (type == short.class) {
      return ValueLayout.JAVA_SHORT;
    } else if (type == byte.class) {
      return ValueLayout.JAVA_BYTE;
    }
    throw new IllegalArgumentException("no C type for " + type);
  }
}
