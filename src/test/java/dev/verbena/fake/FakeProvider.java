package dev.verbena.fake;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Binding;
import dev.verbena.internal.Librdmacm;
import dev.verbena.internal.Provider;
import dev.verbena.internal.Verbs;
import dev.verbena.raw.ibv_context;
import dev.verbena.raw.ibv_context_ops;
import dev.verbena.raw.verbs_context;
import dev.verbena.soft.SoftInternals;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.JavaFunctions;
import java.lang.foreign.GroupLayout;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;

/**
 * A software device, {@code memory0} with two ports, some of whose C functions tests replace.
 *
 * <p>A public method of an object that is {@linkplain #play added} replaces the C function of the
 * same name, or what a pointer of {@code ibv_context_ops} or {@code verbs_context} of that name
 * leads to; an object that is added later goes before an earlier one.
 */
public final class FakeProvider implements Provider, AutoCloseable {
  private final SoftNetwork network = SoftNetwork.create();
  private final SoftInternals internals = new SoftInternals(network);
  private final JavaFunctions upcalls = new JavaFunctions();
  private final List<Object> parts = new ArrayList<>();
  private final Verbs verbs;
  private final Librdmacm rdmacm;

  /** Makes a provider of one device. */
  public FakeProvider() {
    network.addDevice(
        "memory0",
        List.of(
            List.of(InetAddress.ofLiteral("10.0.0.1")),
            List.of(InetAddress.ofLiteral("10.0.0.2"))));
    Verbs device = internals.provider().verbs();
    verbs = Binding.toJava(Verbs.class, (f, arguments) -> call(f, arguments, device), this);
    rdmacm = Binding.toJava(Librdmacm.class, (f, arguments) -> call(f, arguments, null), this);
  }

  /** Adds an object that replaces functions. Pointers reach contexts that are opened after. */
  public FakeProvider play(Object part) {
    parts.addFirst(part);
    return this;
  }

  /** What is behind the C functions. */
  public SoftInternals internals() {
    return internals;
  }

  /** The network, for its faults. */
  public SoftNetwork network() {
    return network;
  }

  @Override
  public Verbs verbs() {
    return verbs;
  }

  @Override
  public Librdmacm rdmacm() {
    return rdmacm;
  }

  @Override
  public void memoryOf(long region, MemorySegment memory) {
    internals.provider().memoryOf(region, memory);
  }

  private static Method player(Object part, String function) {
    for (Method method : part.getClass().getDeclaredMethods()) {
      if (method.getName().equals(function) && Modifier.isPublic(method.getModifiers())) {
        method.setAccessible(true); // Parts need not be public classes.
        return method;
      }
    }
    return null;
  }

  private Object call(Method function, Object[] arguments, Verbs device) throws Throwable {
    for (Object part : parts) {
      Method method = player(part, function.getName());
      if (method != null) {
        return invoke(method, part, arguments);
      }
    }
    if (device == null) {
      throw new VerbsException(function.getName(), Errno.EOPNOTSUPP, "nothing plays it");
    }
    Object result = invoke(function, device, arguments);
    if (function.getName().equals("ibv_open_device")) {
      replacePointers((long) result);
    }
    return result;
  }

  private static Object invoke(Method method, Object target, Object[] arguments) throws Throwable {
    try {
      return method.invoke(target, arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }

  private void replacePointers(long context) {
    FakeStruct inner = FakeStruct.at(context, ibv_context.layout());
    replacePointers(
        FakeStruct.at(inner.addressOf("ops"), ibv_context_ops.layout()), ibv_context_ops.layout());
    FakeStruct outer = FakeStruct.at(Verbs.verbs_get_ctx(context), verbs_context.layout());
    replacePointers(outer, verbs_context.layout());
  }

  private void replacePointers(FakeStruct table, GroupLayout layout) {
    for (MemoryLayout field : layout.memberLayouts()) {
      String name = field.name().orElse("");
      for (Object part : parts) {
        Method method = player(part, name);
        if (method != null) {
          table.putLong(name, upcalls.stub(part, method).address());
          break;
        }
      }
    }
  }

  /** Ends all. Throws what should not have happened in an upcall, or names what was left open. */
  @Override
  public void close() {
    upcalls.close();
    List<String> left = internals.leftOpen();
    network.close();
    if (!left.isEmpty()) {
      throw new AssertionError("left open: " + left);
    }
  }
}
