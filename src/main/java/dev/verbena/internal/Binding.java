package dev.verbena.internal;

import dev.verbena.internal.jfr.FlightEvents;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Implements an interface of C functions by native calls: the Java signature of each method is the
 * C signature, its annotation names the location of the function and its error convention. For
 * control calls only: arguments are boxed.
 *
 * <p>A {@link GeneratedBinding} takes less time to start.
 */
public final class Binding implements InvocationHandler {
  /** The source of functions marked {@link Symbol}. */
  public interface Symbols {
    /** Calls an exported function, with the arguments and the result that the method declares. */
    Object call(Method method, Object[] arguments) throws Throwable;
  }

  private final Symbols symbols;
  private final Object library;

  private Binding(Symbols symbols, Object library) {
    this.symbols = symbols;
    this.library = library;
  }

  /** Implements an interface by the symbols of a library. */
  static <T> T toLibrary(Class<T> functions, Library library) {
    GeneratedBinding generated = GeneratedBinding.ALL.get(functions);
    if (generated != null) {
      return functions.cast(generated.constructor().apply(library));
    }
    NativeFunctions exported = new NativeFunctions(library);
    return toJava(
        functions,
        (method, arguments) -> {
          Symbol symbol = method.getAnnotation(Symbol.class);
          MemorySegment function = exported.exported(method.getName(), symbol.since());
          return call(function, method, symbol.fails(), arguments);
        },
        library);
  }

  /**
   * Implements an interface by exported functions in Java.
   *
   * @param library what has them, for messages
   */
  public static <T> T toJava(Class<T> functions, Symbols exported, Object library) {
    return functions.cast(
        Proxy.newProxyInstance(
            functions.getClassLoader(),
            new Class<?>[] {functions},
            new Binding(exported, library)));
  }

  /** Returns the names of the exported functions of an interface that cannot fail. */
  public static Set<String> infallible(Class<?> functions) {
    return Arrays.stream(functions.getMethods())
        .filter(method -> method.isAnnotationPresent(Symbol.class))
        .filter(method -> method.getAnnotation(Symbol.class).fails() == ErrorConvention.NEVER)
        .map(Method::getName)
        .collect(Collectors.toSet());
  }

  @Override
  public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
    boolean isLogged = CallTrace.isOn();
    Object begun = FlightEvents.beginCall();
    Throwable failure = null;
    try {
      Object result = call(proxy, method, arguments);
      if (isLogged) {
        CallTrace.returned(method.getName(), arguments, result);
      }
      return result;
    } catch (Throwable t) {
      failure = t;
      if (isLogged) {
        CallTrace.threw(method.getName(), arguments, t);
      }
      throw t;
    } finally {
      FlightEvents.endCall(begun, method.getName(), failure);
    }
  }

  private Object call(Object proxy, Method method, Object[] arguments) throws Throwable {
    Symbol symbol = method.getAnnotation(Symbol.class);
    // The C function dereferences its first argument without a check.
    if (arguments != null && arguments[0].equals(0L) && (symbol == null || !symbol.nullable())) {
      throw new NullPointerException(CNames.of(method.getName()) + ": NULL as first argument");
    }
    if (symbol != null) {
      return symbols.call(method, arguments);
    }
    ContextOp op = method.getAnnotation(ContextOp.class);
    if (op != null) {
      return callThroughContext(op, method, arguments);
    }
    return method.isDefault()
        ? InvocationHandler.invokeDefault(proxy, method, arguments)
        : method.invoke(this, arguments);
  }

  private Object callThroughContext(ContextOp op, Method method, Object[] arguments)
      throws Throwable {
    MemorySegment function =
        ContextOps.find(
            op.of(),
            ContextOps.field(op, method.getName()),
            op.since(),
            method.getName(),
            (long) arguments[0],
            library);
    return call(function, method, op.fails(), arguments);
  }

  private static Object call(
      MemorySegment function, Method method, ErrorConvention fails, Object[] arguments) {
    return boxed(
        NativeFunctions.call(function, method.getName(), fails, registers(arguments)),
        method.getReturnType());
  }

  private static long[] registers(Object[] arguments) {
    if (arguments == null) {
      return new long[0];
    }
    long[] registers = new long[arguments.length];
    for (int i = 0; i < registers.length; i++) {
      registers[i] = ((Number) arguments[i]).longValue();
    }
    return registers;
  }

  private static Object boxed(long result, Class<?> type) {
    if (type == long.class) {
      return result;
    } else if (type == int.class) {
      return (int) result;
    } else if (type == short.class) {
      return (short) result;
    } else if (type == boolean.class) {
      return (byte) result != 0; // C defines no more than the lowest byte of the register.
    } else if (type == void.class) {
      return null;
    }
    throw new IllegalArgumentException("no C type for " + type);
  }
}
