package dev.verbena.internal.foreign;

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
 * the errno for one that returns an int, the negative errno for one that returns a count. An
 * exception other than {@link VerbsException} is an internal error of the implementation: it is
 * logged, and reported as EIO. The conversion allocates nothing, since the heap may be full.
 */
@SuppressWarnings("UnusedMethod") // Through handler().
public final class Upcalls {
  private static final FailureLog FAILURES =
      new FailureLog(Upcalls.class, "internal error of the software device");

  /** Returns the address of the thread's errno; reads no argument. NULL without Linux. */
  private static final MemorySegment ERRNO =
      Libc.isPresent() ? Libc.find("__errno_location") : MemorySegment.NULL;

  private static final int REHEARSALS = 256;

  /** Zeros, more than any struct whose address is passed. */
  private static final long NO_OBJECT = Arena.global().allocate(4096, Long.BYTES).address();

  @SuppressWarnings("StaticAssignmentOfThrowable") // Only its errno is used.
  private static final VerbsException NO_SUCH_OBJECT =
      new VerbsException("a function pointer", Errno.EINVAL, "no object");

  static {
    int _ = errno(new VerbsException("", 0)); // The first call would load the class.
  }

  private Upcalls() {}

  /** A pointer to a function whose parameters are long, int, short and byte. */
  public static MemorySegment stub(MethodHandle function) {
    return stub(function, "failed");
  }

  /** A pointer to a function that returns a count, or the negative errno if it fails. */
  public static MemorySegment countingStub(MethodHandle function) {
    return stub(function, "countFailed");
  }

  /**
   * Calls a function of a stub so often that the JVM adapts the method handle to it
   * (<i>customization</i>, after 127 calls) now: later, with a full heap, that would fail outside
   * of the function, and end the JVM. The first argument is the address of zeros, as is the third:
   * the function fails, by {@link #requireObject} for example.
   */
  public static MemorySegment rehearsed(MemorySegment stub) {
    for (int i = 0; i < REHEARSALS; i++) {
      long _ = Call.plain(stub, NO_OBJECT, 0, NO_OBJECT);
    }
    return stub;
  }

  /**
   * Ends a rehearsal in the function.
   *
   * @param object the first argument of the function
   * @throws VerbsException if it is that of a rehearsal
   */
  public static void requireObject(long object) {
    if (object == NO_OBJECT) {
      throw NO_SUCH_OBJECT;
    }
  }

  private static MemorySegment stub(MethodHandle function, String failed) {
    StackSpace.callsComeBack();
    MethodType type = function.type();
    MethodHandle guarded =
        MethodHandles.catchException(function, Throwable.class, handler(type.returnType(), failed));
    return Linker.nativeLinker().upcallStub(guarded, descriptor(type), Arena.global());
  }

  /** The conversion of an exception to a result: for each type a method of its own, unboxed. */
  private static MethodHandle handler(Class<?> result, String prefix) {
    String name = prefix + Character.toUpperCase(result.getName().charAt(0));
    try {
      return MethodHandles.lookup()
          .findStatic(
              Upcalls.class,
              name + result.getName().substring(1),
              MethodType.methodType(result, Throwable.class));
    } catch (ReflectiveOperationException e) {
      throw new LinkageError(e.getMessage(), e);
    }
  }

  private static int errno(Throwable t) {
    if (t instanceof VerbsException e) {
      return e.errno();
    }
    FAILURES.log(t);
    return Errno.EIO;
  }

  private static void failedVoid(Throwable t) {
    int _ = errno(t);
  }

  private static int failedInt(Throwable t) {
    return errno(t);
  }

  private static int countFailedInt(Throwable t) {
    return -errno(t);
  }

  private static long failedLong(Throwable t) {
    int errno = errno(t); // The caller of the function reads it next.
    if (Libc.isPresent()) {
      Memory.putInt(Call.plain(ERRNO, 0), errno);
    } else {
      Downcall.leave(errno);
    }
    return 0;
  }

  private static short failedShort(Throwable t) {
    int _ = errno(t);
    return 0;
  }

  private static byte failedByte(Throwable t) {
    int _ = errno(t);
    return 0;
  }

  /**
   * {@return the C descriptor of a method type made of long, int, short and byte}
   *
   * @param type the method type
   */
  public static FunctionDescriptor descriptor(MethodType type) {
    MemoryLayout[] parameters =
        Arrays.stream(type.parameterArray()).map(Upcalls::layout).toArray(MemoryLayout[]::new);
    return type.returnType() == void.class
        ? FunctionDescriptor.ofVoid(parameters)
        : FunctionDescriptor.of(layout(type.returnType()), parameters);
  }

  public static MemoryLayout layout(Class<?> type) {
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
