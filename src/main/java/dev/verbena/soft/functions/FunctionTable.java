package dev.verbena.soft.functions;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Upcalls;
import dev.verbena.soft.device.FailingCalls;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.SoftDevice;
import dev.verbena.soft.device.SoftObject;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
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
              new QueuePairFunctions(),
              new SharedQueueFunctions(),
              new WorkQueueFunctions(),
              new FlowFunctions(),
              new CounterFunctions(),
              new TagFunctions(),
              new AddressFunctions(),
              new XrcFunctions(),
              new DomainFunctions(),
              new BufferFunctions(),
              new TextFunctions()));

  /** What ends the use of an object: possible on a device that was removed. */
  private static final Pattern ENDING =
      Pattern.compile(
          "ibv_(destroy|dealloc|dereg|close|free|detach|ack|get_async_event|get_cq_event).*");

  /** What makes no call of the kernel: possible on a device that was lost. */
  private static final Pattern LOCAL =
      Pattern.compile(
          "ibv_(ack_.*|close_device|destroy_comp_channel|get_async_event|get_cq_event)");

  /** What destroys an object. */
  private static final Pattern DESTROYING =
      Pattern.compile("ibv_(destroy|dealloc|dereg|close|free).*");

  /** A name that a library exports; all others are those of pointers. */
  private static final Pattern EXPORTED = Pattern.compile("(_?ibv|rdma|efadv)_.*");

  private static final Set<String> DATA_PATH =
      Set.of("post_send", "post_recv", "post_srq_recv", "post_wq_recv", "poll_cq", "req_notify_cq");

  private static final Map<String, MemorySegment> POINTERS = new HashMap<>();

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
      return MethodHandles.lookup().unreflect(method).bindTo(part);
    } catch (IllegalAccessException e) {
      throw new LinkageError(e.getMessage(), e);
    }
  }

  /** The C names of the functions of this table and of the shared one that can be made to fail. */
  Set<String> names() {
    return Stream.of(functions, SHARED.functions)
        .flatMap(table -> table.keySet().stream())
        .filter(name -> !DATA_PATH.contains(name))
        .map(FunctionTable::cName)
        .collect(Collectors.toSet());
  }

  /** A function of this table or of the shared one, or null. */
  @Nullable MethodHandle find(String name) {
    MethodHandle own = functions.get(name);
    return own != null ? own : SHARED.functions.get(name);
  }

  /** A pointer to a shared function, or NULL if there is none of this name. */
  static synchronized MemorySegment pointer(String name) {
    return POINTERS.computeIfAbsent(
        name,
        n -> {
          MethodHandle function = SHARED.functions.get(n);
          return function == null ? MemorySegment.NULL : stub(n, function);
        });
  }

  /** Functions other than those on the data path can be made to fail. */
  private static MemorySegment stub(String name, MethodHandle function) {
    if (!DATA_PATH.contains(name)) {
      return Upcalls.rehearsed(Upcalls.stub(guarded(name, function)));
    }
    boolean counts = name.equals("poll_cq");
    return Upcalls.rehearsed(counts ? Upcalls.countingStub(function) : Upcalls.stub(function));
  }

  private static MethodHandle guarded(String name, MethodHandle function) {
    try {
      MethodHandle check =
          MethodHandles.lookup()
              .findStatic(
                  FunctionTable.class,
                  "check",
                  MethodType.methodType(void.class, String.class, long.class));
      return MethodHandles.foldArguments(
          function, MethodHandles.insertArguments(check, 0, cName(name)));
    } catch (ReflectiveOperationException e) {
      throw new LinkageError(e.getMessage(), e);
    }
  }

  private static String cName(String function) {
    return EXPORTED.matcher(function).matches() ? function : "ibv_" + function;
  }

  /** Fails a function that was chosen to fail, called with an object of a network. */
  @SuppressWarnings("UnusedMethod") // Through a method handle.
  private static void check(String function, long object) {
    Upcalls.requireObject(object);
    SoftDevice device = Registry.deviceOf(object);
    requirePresent(function, object, device);
    if (device != null) {
      device.profile.requireFunction(function);
    }
    int errno = device == null ? 0 : device.failingCalls.failure(function);
    if (errno != 0) {
      throw new VerbsException(function, errno, "a fault that was asked for");
    }
  }

  /**
   * Fails a function that a device that was removed does not support.
   *
   * @throws VerbsException EIO
   */
  private static void requirePresent(String function, long address, SoftDevice device) {
    if (device != null && device.isRemoved()) {
      Pattern possible = device.isLost() ? LOCAL : ENDING;
      if (!possible.matcher(function).matches()) {
        SoftObject object = Registry.find(address);
        if (object != null && DESTROYING.matcher(function).matches()) {
          Registry.release(object);
        }
        throw new VerbsException(function, Errno.EIO, device.name + " was removed");
      }
    }
  }

  /** Calls an exported function. */
  Object call(FailingCalls failingCalls, String name, Object[] arguments) throws Throwable {
    MethodHandle function = find(name);
    if (function == null) {
      throw new VerbsException(name, Errno.EOPNOTSUPP, "the software device does not implement it");
    }
    if (arguments != null && arguments.length > 0 && arguments[0] instanceof Long object) {
      SoftDevice device = Registry.deviceOf(object);
      requirePresent(name, object, device);
      if (device != null) {
        device.profile.requireFunction(name);
      }
    }
    int errno = failingCalls.failure(name);
    if (errno != 0) {
      throw new VerbsException(name, errno, "a fault that was asked for");
    }
    return function.invokeWithArguments(arguments == null ? new Object[0] : arguments);
  }
}
