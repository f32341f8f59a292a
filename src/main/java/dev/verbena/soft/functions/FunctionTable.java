package dev.verbena.soft.functions;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.CNames;
import dev.verbena.soft.device.CallFailure;
import dev.verbena.soft.device.FailingCalls;
import dev.verbena.soft.device.Registry;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The C functions that the software device implements, by name: each public method of a part is the
 * C function, or the function behind the pointer, of the same name.
 */
final class FunctionTable {
  /** What serves all networks: the functions find the network through their first argument. */
  private static final FunctionTable SHARED =
      new FunctionTable(
          List.of(
              new ContextFunctions(),
              new MemoryFunctions(),
              new WindowFunctions(),
              new CompletionFunctions(),
              new ExtendedPolling(),
              new QueuePairFunctions(),
              new ExtendedPosting(),
              new SharedQueueFunctions(),
              new WorkQueueFunctions(),
              new FlowFunctions(),
              new CounterFunctions(),
              new TagFunctions(),
              new AddressFunctions(),
              new XrcFunctions(),
              new DomainFunctions(),
              new BufferFunctions(),
              new EfaFunctions(),
              new Mlx5Functions(),
              new TextFunctions()));

  static {
    SHARED.functions.forEach((name, function) -> Pointers.FUNCTIONS.put(name, function.handle));
  }

  private final Map<String, Function> functions = new HashMap<>();

  /**
   * A function of a part.
   *
   * @param name its C name
   * @param call calls it with an array of arguments, by {@code invokeExact}
   */
  private record Function(String name, MethodHandle handle, MethodHandle call) {
    static Function of(String name, MethodHandle handle) {
      MethodType generic = handle.type().generic();
      MethodHandle call = handle.asType(generic);
      return new Function(
          CNames.of(name), handle, call.asSpreader(Object[].class, generic.parameterCount()));
    }
  }

  FunctionTable(List<Object> parts) {
    parts.forEach(this::add);
  }

  private void add(Object part) {
    for (Method method : part.getClass().getDeclaredMethods()) {
      if (Modifier.isPublic(method.getModifiers())) {
        functions.put(method.getName(), Function.of(method.getName(), handle(part, method)));
      }
    }
  }

  private static MethodHandle handle(Object part, Method method) {
    try {
      MethodHandle function = MethodHandles.lookup().unreflect(method);
      return Modifier.isStatic(method.getModifiers()) ? function : function.bindTo(part);
    } catch (IllegalAccessException e) {
      throw new LinkageError(e.getMessage(), e);
    }
  }

  /** The C names of the functions of this table and of the shared one that can be made to fail. */
  Set<String> names() {
    return Stream.of(functions, SHARED.functions)
        .flatMap(table -> table.entrySet().stream())
        .filter(entry -> !Pointers.isOnDataPath(entry.getKey()))
        .map(entry -> entry.getValue().name)
        .collect(Collectors.toSet());
  }

  /** A function of this table or of the shared one, or null. */
  private @Nullable Function find(String name) {
    Function own = functions.get(name);
    return own != null ? own : SHARED.functions.get(name);
  }

  /** Calls an exported function. */
  Object call(FailingCalls failingCalls, String name, Object[] arguments) throws Throwable {
    Function function = find(name);
    if (function == null) {
      throw new VerbsException(
          CNames.of(name), Errno.EOPNOTSUPP, "the software device does not implement it");
    }
    try {
      if (arguments != null && arguments.length > 0 && arguments[0] instanceof Long object) {
        Pointers.requireSupported(name, object, Registry.deviceOf(object));
      }
      int errno = failingCalls.failure(function.name);
      if (errno != 0) {
        throw CallFailure.of(errno, "a fault that was asked for");
      }
      return (Object) function.call.invokeExact(arguments);
    } catch (VerbsException e) {
      throw CallFailure.in(function.name, e);
    }
  }
}
