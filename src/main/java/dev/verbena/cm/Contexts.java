package dev.verbena.cm;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Librdmacm;
import dev.verbena.internal.Provider;
import dev.verbena.internal.Providers;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.life.Core;
import dev.verbena.raw.ibv_context;
import dev.verbena.verbs.AsyncEvents;
import dev.verbena.verbs.Context;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * The device contexts that librdmacm opened, one for each device ({@code rdma_get_devices}). All
 * identifiers of a device share its context, so that they can share protection domains and queues.
 *
 * <p>librdmacm frees the context of a removed device some time after its last identifier was
 * closed. To keep a {@link Context} valid, this class holds it until nothing of it is open: then
 * the context of a removed device is closed. The kernel waits for that before it removes a
 * Soft-RoCE device. If it was the last device of the host, librdmacm does not notice the removal,
 * and keeps the context open. The contexts of a software network are closed with it.
 */
public final class Contexts {
  /**
   * The contexts that librdmacm does not free, so that no other context can have the same address.
   */
  private static final Map<Long, Held> HELD = new LinkedHashMap<>();

  /** A context, and what opened it. */
  private record Held(Context context, Provider provider) {}

  static {
    Providers.whenClosed(Contexts::release);
  }

  private Contexts() {}

  /**
   * {@return the contexts of all devices that RDMA CM can use ({@code rdma_get_devices} and {@code
   * rdma_free_devices}); closing one closes the objects created from it, but not the device}
   */
  public static List<Context> list() {
    return list(Providers.system().rdmacm());
  }

  private static List<Context> list(Librdmacm rdmacm) {
    List<Context> listed;
    List<Context> removed;
    synchronized (Contexts.class) {
      listed = listHeld(rdmacm);
      removed = removed(rdmacm, listed);
    }
    close(removed);
    return listed;
  }

  /** Closes the contexts of devices that were removed once they are unused. */
  static void releaseRemoved(Librdmacm rdmacm) {
    if (!removed(rdmacm, List.of()).isEmpty()) { // Otherwise none is held, and none is opened.
      refresh(rdmacm);
    }
  }

  private static void refresh(Librdmacm rdmacm) {
    try {
      List<Context> _ = list(rdmacm);
    } catch (VerbsException e) {
      if (e.errno() != Errno.ENODEV) {
        throw e;
      }
      close(removed(rdmacm, List.of())); // The last device was removed.
    }
  }

  /** Called without the lock: closing a context waits for other threads. */
  private static void close(List<Context> removed) {
    removed.forEach(context -> Core.of(context).closeWhenUnused());
  }

  /** Returns the contexts of devices that librdmacm does not list any more. */
  @SuppressWarnings("ReferenceEquality") // Two implementations are never the same.
  private static synchronized List<Context> removed(Librdmacm rdmacm, List<Context> listed) {
    return HELD.values().stream()
        .filter(held -> held.provider.rdmacm() == rdmacm)
        .map(Held::context)
        .filter(context -> !listed.contains(context))
        .toList();
  }

  private static List<Context> listHeld(Librdmacm rdmacm) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment count = arena.allocate(ValueLayout.JAVA_INT);
      long list = rdmacm.rdma_get_devices(count.address());
      List<Long> addresses = addresses(list, count);
      if (HELD.keySet().containsAll(addresses)) {
        rdmacm.rdma_free_devices(list);
      } else { // The list holds the new ones: librdmacm counts a reference for each context in it.
        addresses.stream()
            .filter(HELD::containsKey)
            .forEach(known -> HELD.get(known).provider.forgetDevice(known));
      }
      return addresses.stream().map(Contexts::held).toList();
    }
  }

  private static Context held(long address) {
    return HELD.compute(
            address,
            (key, known) ->
                known != null && known.context.isOpen()
                    ? known
                    : open(MemorySegment.ofAddress(address)))
        .context;
  }

  private static Held open(MemorySegment segment) {
    Provider provider = Providers.ofContext(segment.address());
    if (Providers.isClosed(provider)) {
      throw new IllegalStateException("the software network is closed");
    }
    long address = segment.address();
    Context context = Context.borrow(Memory.at(address, ibv_context.sizeof()));
    Core.of(context)
        .wrapDestruction(
            end -> {
              end.run();
              closed(context, address);
            });
    AsyncEvents.of(context).logUnhandled(); // librdmacm does not read them.
    return new Held(context, provider);
  }

  /** Gives a closed context back to librdmacm, unless another object has taken its place. */
  private static synchronized void closed(Context context, long address) {
    Held held = HELD.get(address);
    if (held != null && held.context.equals(context)) {
      HELD.remove(address);
      held.provider.forgetDevice(address);
    }
  }

  private static List<Long> addresses(long list, MemorySegment count) {
    return LongStream.range(0, count.get(ValueLayout.JAVA_INT, 0))
        .mapToObj(i -> Memory.getLong(list + i * Long.BYTES))
        .toList();
  }

  /** Closes the contexts of a software network, which closes its devices. */
  private static void release(Provider network) {
    List<Context> contexts = new ArrayList<>();
    synchronized (Contexts.class) {
      for (Held held : HELD.values()) {
        if (held.provider.equals(network)) {
          contexts.add(held.context);
        }
      }
      HELD.values().removeIf(held -> held.provider.equals(network));
    }
    contexts.forEach(Context::close);
  }

  /** Returns an object on the context of an identifier, which stays open until that is closed. */
  static Core use(Librdmacm rdmacm, MemorySegment segment, Object user) {
    Core use = useHeld(segment.address(), user);
    if (use == null) {
      refresh(rdmacm);
      use = useHeld(segment.address(), user);
    }
    if (use == null) { // The device was removed, and librdmacm does not list it any more.
      Context context = open(segment).context;
      use = useOf(context, user);
      Core.of(context).closeWhenUnused();
    }
    return use;
  }

  private static synchronized @Nullable Core useHeld(long address, Object user) {
    Held held = HELD.get(address);
    try {
      return held == null ? null : useOf(held.context, user);
    } catch (IllegalStateException e) {
      return null; // It is being closed.
    }
  }

  private static Core useOf(Context context, Object user) {
    return Core.borrow(
        List.of(context),
        0,
        core -> {
          core.owner(user);
          return core;
        });
  }
}
