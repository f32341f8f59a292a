package dev.verbena.soft.functions;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.CNames;
import dev.verbena.soft.device.CallFailure;
import dev.verbena.soft.device.FailingCalls;
import dev.verbena.soft.device.Registry;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
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
              new TextFunctions()));

  static {
    Pointers.FUNCTIONS.putAll(SHARED.functions);
  }

  private final Map<String, MethodHandle> functions = new HashMap<>();

  FunctionTable(List<Object> parts) {
    parts.forEach(this::add);
  }

  private void add(Object part) {
    for (Method method : part.getClass().getDeclaredMethods()) {
      if (Modifier.isPublic(method.getModifiers())) {
        functions.put(method.getName(), handle(part, method));
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
        .flatMap(table -> table.keySet().stream())
        .filter(name -> !Pointers.isOnDataPath(name))
        .map(CNames::of)
        .collect(Collectors.toSet());
  }

  /** A function of this table or of the shared one, or null. */
  @Nullable MethodHandle find(String name) {
    MethodHandle own = functions.get(name);
    return own != null ? own : SHARED.functions.get(name);
  }

  /** Calls an exported function. */
  Object call(FailingCalls failingCalls, String name, Object[] arguments) throws Throwable {
    MethodHandle function = find(name);
    if (function == null) {
      throw new VerbsException(
          CNames.of(name), Errno.EOPNOTSUPP, "the software device does not implement it");
    }
    try {
      if (arguments != null && arguments.length > 0 && arguments[0] instanceof Long object) {
        Pointers.requireSupported(name, object, Registry.deviceOf(object));
      }
      int errno = failingCalls.failure(CNames.of(name));
      if (errno != 0) {
        throw CallFailure.of(errno, "a fault that was asked for");
      }
      return function.invokeWithArguments(arguments == null ? new Object[0] : arguments);
    } catch (VerbsException e) {
      throw CallFailure.in(CNames.of(name), e);
    }
  }
}
