package dev.verbena.internal;

import dev.verbena.internal.foreign.Downcall;
import dev.verbena.internal.jfr.FlightEvents;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Calls the functions of a C library by their names: the base of the classes that {@code
 * NativeFunctionsTest} generates from the interfaces of C functions. For control calls.
 *
 * <p>Each function is looked up at its first call, so that a library without some functions can be
 * used for all others.
 */
public class NativeFunctions {
  private final Library library;
  private final Map<String, MemorySegment> exported = new ConcurrentHashMap<>();

  NativeFunctions(Library library) {
    this.library = library;
  }

  /** Calls a function marked {@link Symbol}. */
  final long symbol(String function, int since, ErrorConvention fails, long... arguments) {
    return recorded(function, null, "", since, true, fails, arguments);
  }

  /** Calls a function marked {@link Symbol} whose first argument is a pointer, but not NULL. */
  final long symbolOfObject(String function, int since, ErrorConvention fails, long... arguments) {
    return recorded(function, null, "", since, false, fails, arguments);
  }

  /** Calls a function marked {@link ContextOp}. */
  final long op(
      String function,
      ContextOp.Of of,
      String field,
      int since,
      ErrorConvention fails,
      long... arguments) {
    return recorded(function, of, field, since, false, fails, arguments);
  }

  private long recorded(
      String function,
      ContextOp.@Nullable Of of,
      String field,
      int since,
      boolean nullable,
      ErrorConvention fails,
      long... arguments) {
    Object begun = FlightEvents.beginCall();
    RuntimeException failure = null;
    try {
      if (!nullable) {
        requireFirst(function, arguments);
      }
      MemorySegment pointer =
          of == null
              ? exported(function, since)
              : ContextOps.find(of, field, since, function, arguments[0], library);
      return returned(function, call(pointer, function, fails, arguments), arguments);
    } catch (RuntimeException e) {
      failure = e;
      if (CallTrace.isOn()) {
        CallTrace.threw(function, boxed(arguments), e);
      }
      throw e;
    } finally {
      FlightEvents.endCall(begun, function, failure);
    }
  }

  /** Records the result of a function, and returns it. */
  static long returned(String function, long result, long... arguments) {
    if (CallTrace.isOn()) {
      CallTrace.returned(function, boxed(arguments), result);
    }
    return result;
  }

  private static Object[] boxed(long... numbers) {
    return Arrays.stream(numbers).boxed().toArray();
  }

  /** Checks an argument that the C function dereferences without a check. */
  static void requireFirst(String function, long... arguments) {
    if (arguments.length > 0 && arguments[0] == 0) {
      throw new NullPointerException(CNames.of(function) + ": NULL as first argument");
    }
  }

  /** Finds a function that the library exports. */
  final MemorySegment exported(String function, int since) {
    MemorySegment found = exported.get(function);
    if (found == null) {
      found = library.find(function, since);
      exported.put(function, found);
    }
    return found;
  }

  /** Calls a function; throws its failure. */
  public static long call(
      MemorySegment pointer, String function, ErrorConvention fails, long... arguments) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment capture = Downcall.capture(arena);
      long result = fails.result(Downcall.call(pointer, capture, arguments));
      if (fails.failed(result)) {
        throw fails.failure(CNames.of(function), result, Downcall.errno(capture));
      }
      return result;
    }
  }
}
