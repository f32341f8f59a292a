package dev.verbena.fake;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Binding;
import dev.verbena.internal.Libibverbs;
import dev.verbena.internal.Librdmacm;
import dev.verbena.internal.Provider;
import dev.verbena.internal.Verbs;
import dev.verbena.testing.Upcalls;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;

/**
 * A software device in memory that stands in for the C libraries, so that the verbs floor and the
 * data path run on any machine: the functions that libibverbs exports are Java, and the function
 * pointers of an {@code ibv_context} lead to upcalls.
 *
 * <p>It is put together from parts. A part's public method plays the C function of the same name,
 * or what a pointer of {@code ibv_context_ops} or {@code verbs_context} of that name leads to.
 * Tests add parts for what the device does not do by itself; a later part goes before an earlier
 * one. What no part plays fails as unsupported.
 */
public final class FakeProvider implements Provider, AutoCloseable {
  private final Arena arena = Arena.ofShared();
  private final Upcalls upcalls = new Upcalls();
  private final List<Object> parts = new ArrayList<>();
  private final FakeDevice device = new FakeDevice(arena);
  private final Verbs verbs = Binding.toJava(Verbs.class, dispatch(Libibverbs.class));
  private final FakeEvents events = new FakeEvents(device);
  private final Librdmacm rdmacm = Binding.toJava(Librdmacm.class, dispatch(Librdmacm.class));

  /** Makes a provider with one device, {@code memory0}, whose two ports a wire joins. */
  public FakeProvider() {
    FakeCompletions completions = new FakeCompletions(device, events);
    FakeFlows flows = new FakeFlows(device);
    FakeWire wire = new FakeWire(device, completions, events, flows);
    play(new FakeContexts(device, this));
    play(events);
    play(new FakeRegions(device));
    play(new FakeWindows(device));
    play(completions);
    play(flows);
    play(new FakeSharedQueues(device, wire));
    play(new FakeQueuePairs(device, wire));
  }

  /** Adds an object that plays C functions. Pointers reach contexts that are opened after. */
  public FakeProvider play(Object part) {
    parts.addFirst(part);
    return this;
  }

  /** Raises an asynchronous event of a C object or a port. */
  public void announce(long context, int type, long element) {
    events.announce(context, type, element);
  }

  /** The device, for what its tests want to see or do behind C's back. */
  public FakeDevice device() {
    return device;
  }

  @Override
  public Verbs verbs() {
    return verbs;
  }

  @Override
  public Librdmacm rdmacm() {
    return rdmacm;
  }

  /** A pointer to what plays a function, or NULL. */
  MemorySegment pointer(String function) {
    for (Object part : parts) {
      Method method = player(part, function);
      if (method != null) {
        return upcalls.stub(part, method);
      }
    }
    return MemorySegment.NULL;
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

  private Object dispatch(Class<?> functions) {
    InvocationHandler handler =
        (proxy, function, arguments) -> {
          for (Object part : parts) {
            Method method = player(part, function.getName());
            if (method != null) {
              try {
                return method.invoke(part, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            }
          }
          throw new VerbsException(function.getName(), Errno.EOPNOTSUPP, "nothing plays it");
        };
    return Proxy.newProxyInstance(functions.getClassLoader(), new Class<?>[] {functions}, handler);
  }

  /** Ends all. Throws what should not have happened in an upcall, or names what was left open. */
  @Override
  public void close() {
    upcalls.close();
    List<String> left = device.leftOpen();
    device.close();
    arena.close();
    if (!left.isEmpty()) {
      throw new AssertionError("left open: " + left);
    }
  }
}
