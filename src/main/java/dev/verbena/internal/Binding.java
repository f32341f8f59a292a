package dev.verbena.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/**
 * Turns an interface of C functions into calls: each method's Java signature is the C signature,
 * its annotation says where the function is and how it fails.
 *
 * <p>Functions are linked on their first call, so that a library without some of them serves for
 * all the others. For control calls only: arguments are boxed on the way.
 */
public final class Binding implements InvocationHandler {
  private static final Linker LINKER = Linker.nativeLinker();
  private static final StructLayout CAPTURE = Linker.Option.captureStateLayout();
  private static final VarHandle ERRNO =
      CAPTURE.varHandle(MemoryLayout.PathElement.groupElement("errno"));

  /** Where the functions marked {@link Symbol} come from. */
  interface Symbols {
    /** Calls an exported function; arguments and result as the method declares them. */
    Object call(Method method, Object[] arguments) throws Throwable;
  }

  private final Symbols symbols;
  private final Supplier<String> library;
  private final boolean isTraced;
  private final ConcurrentHashMap<Method, MethodHandle> ops = new ConcurrentHashMap<>();

  private Binding(Symbols symbols, Supplier<String> library, boolean isTraced) {
    this.symbols = symbols;
    this.library = library;
    this.isTraced = isTraced;
  }

  /** Binds an interface to the symbols of a library. */
  static <T> T toLibrary(Class<T> functions, Library library) {
    var linked = new ConcurrentHashMap<Method, MethodHandle>();
    return bind(
        functions,
        (method, arguments) -> {
          Symbol symbol = method.getAnnotation(Symbol.class);
          MethodHandle handle =
              linked.computeIfAbsent(
                  method, m -> link(m, symbol.fails(), library.find(m.getName(), symbol.since())));
          return call(handle, method, symbol.fails(), arguments);
        },
        library::description,
        true);
  }

  /** Binds an interface to an object that implements the exported functions in Java. */
  public static <T> T toJava(Class<T> functions, Object exported) {
    return bind(
        functions,
        (method, arguments) -> {
          try {
            return method.invoke(exported, arguments);
          } catch (InvocationTargetException e) {
            throw e.getCause();
          }
        },
        () -> exported + " in Java",
        true);
  }

  private static <T> T bind(
      Class<T> functions, Symbols symbols, Supplier<String> library, boolean isTraced) {
    return functions.cast(
        Proxy.newProxyInstance(
            functions.getClassLoader(),
            new Class<?>[] {functions},
            new Binding(symbols, library, isTraced)));
  }

  @Override
  public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
    if (!isTraced || !CallTrace.isOn()) {
      return call(proxy, method, arguments);
    }
    try {
      Object result = call(proxy, method, arguments);
      CallTrace.returned(method, arguments, result);
      return result;
    } catch (Throwable t) {
      CallTrace.threw(method, arguments, t);
      throw t;
    }
  }

  private Object call(Object proxy, Method method, Object[] arguments) throws Throwable {
    Symbol symbol = method.getAnnotation(Symbol.class);
    // C follows its first argument without a look at it.
    if (arguments != null && arguments[0].equals(0L) && (symbol == null || !symbol.nullable())) {
      throw new NullPointerException(method.getName() + ": NULL as first argument");
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
    MemorySegment function = ContextOps.find(op, method.getName(), (long) arguments[0], library);
    MethodHandle handle = ops.computeIfAbsent(method, m -> link(m, op.fails(), null));
    return call(handle.bindTo(function), method, op.fails(), arguments);
  }

  /** A handle of the shape (capture, Object[])Object; without a symbol, the function goes first. */
  private static MethodHandle link(Method method, ErrorConvention fails, MemorySegment symbol) {
    FunctionDescriptor descriptor = descriptor(method, fails);
    Linker.Option errno = Linker.Option.captureCallState("errno");
    int arity = method.getParameterCount();
    MethodHandle handle =
        symbol == null
            ? LINKER.downcallHandle(descriptor, errno)
            : LINKER.downcallHandle(symbol, descriptor, errno);
    MethodType generic = MethodType.methodType(Object.class, MemorySegment.class, Object[].class);
    return handle
        .asSpreader(Object[].class, arity)
        .asType(symbol == null ? generic.insertParameterTypes(0, MemorySegment.class) : generic);
  }

  private static FunctionDescriptor descriptor(Method method, ErrorConvention fails) {
    MemoryLayout[] parameters =
        Arrays.stream(method.getParameterTypes()).map(Binding::layout).toArray(MemoryLayout[]::new);
    Class<?> result = method.getReturnType();
    if (result == void.class) {
      // A function that returns only success or failure has no result in Java.
      return fails == ErrorConvention.NEVER
          ? FunctionDescriptor.ofVoid(parameters)
          : FunctionDescriptor.of(ValueLayout.JAVA_INT, parameters);
    }
    return FunctionDescriptor.of(layout(result), parameters);
  }

  private static MemoryLayout layout(Class<?> type) {
    if (type == long.class) {
      return ValueLayout.JAVA_LONG;
    } else if (type == int.class) {
      return ValueLayout.JAVA_INT;
    } else if (type == short.class) {
      return ValueLayout.JAVA_SHORT;
    } else if (type == byte.class) {
      return ValueLayout.JAVA_BYTE;
    } else if (type == boolean.class) {
      return ValueLayout.JAVA_BOOLEAN;
    }
    throw new IllegalArgumentException("no C type for " + type);
  }

  private static Object call(
      MethodHandle handle, Method method, ErrorConvention fails, Object[] arguments)
      throws Throwable {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment capture = arena.allocate(CAPTURE);
      Object result = (Object) handle.invokeExact(capture, arguments);
      if (result instanceof Number number && fails.failed(number.longValue())) {
        throw fails.failure(method.getName(), number.longValue(), (int) ERRNO.get(capture, 0L));
      }
      return method.getReturnType() == void.class ? null : result;
    }
  }
}
