package dev.verbena.testing;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Function pointers behind which Java stands.
 *
 * <p>An exception that left an upcall would end the JVM. A {@link VerbsException} is reported as C
 * does: NULL and errno by a function that returns a pointer, the errno itself by one that returns
 * an int. Anything else is a fault of the test: it is kept, and {@link #close} throws it.
 */
public final class JavaFunctions implements AutoCloseable {
  private static final MethodHandle FAILED;

  static {
    try {
      FAILED =
          MethodHandles.lookup()
              .findVirtual(
                  JavaFunctions.class,
                  "failed",
                  MethodType.methodType(Object.class, Class.class, Throwable.class));
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final Arena arena = Arena.ofShared();
  private final List<Throwable> faults = new CopyOnWriteArrayList<>();

  /** A pointer to a function of the handle's own type. */
  public MemorySegment stub(MethodHandle function) {
    MethodType type = function.type();
    MethodHandle failed =
        FAILED
            .bindTo(this)
            .bindTo(type.returnType())
            .asType(MethodType.methodType(type.returnType(), Throwable.class));
    MethodHandle guarded = MethodHandles.catchException(function, Throwable.class, failed);
    return Linker.nativeLinker()
        .upcallStub(guarded, dev.verbena.internal.foreign.Upcalls.descriptor(type), arena);
  }

  /** A pointer to a method of an object. */
  public MemorySegment stub(Object target, Method method) {
    try {
      return stub(MethodHandles.lookup().unreflect(method).bindTo(target));
    } catch (IllegalAccessException e) {
      throw new IllegalArgumentException(method + " is not public", e);
    }
  }

  @SuppressWarnings("UnusedMethod") // Called through FAILED.
  private Object failed(Class<?> result, Throwable t) {
    int errno = Errno.EIO;
    if (t instanceof VerbsException e) {
      errno = e.errno();
    } else {
      faults.add(t);
    }
    if (result == void.class) {
      return null;
    } else if (result == long.class) {
      NativeErrno.set(errno);
      return 0L;
    }
    return errno;
  }

  /** Gives the pointers back. Throws what should not have happened behind one of them. */
  @Override
  public void close() {
    arena.close();
    if (!faults.isEmpty()) {
      AssertionError all = new AssertionError("an upcall failed", faults.getFirst());
      faults.stream().skip(1).forEach(all::addSuppressed);
      throw all;
    }
  }
}
