package dev.verbena.cm;

import dev.verbena.VerbsException;
import dev.verbena.internal.Librdmacm;
import dev.verbena.internal.Memory;
import dev.verbena.internal.Provider;
import dev.verbena.internal.Providers;
import dev.verbena.internal.access.VerbsAccess;
import dev.verbena.verbs.Context;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The device contexts that librdmacm opened, one for each device ({@code rdma_get_devices}). All
 * identifiers of a device share its context, so that they can share protection domains and queues.
 *
 * <p>librdmacm frees the context of a removed device some time after its last identifier was
 * closed. To keep a {@link Context} valid, this class holds it until the process ends; calls on it
 * then fail as for any removed device. If the kernel waits for all users before it removes a
 * device, as for Soft-RoCE, the removal completes when the process ends. The contexts of a software
 * network are closed with it.
 */
public final class Contexts {
  /**
   * The contexts that librdmacm does not free, so that no other context can have the same address.
   */
  private static final Map<Long, Held> HELD = new HashMap<>();

  /** A context, and what opened it. */
  private record Held(Context context, Provider provider) {}

  static {
    Providers.whenClosed(Contexts::release);
  }

  private Contexts() {}

  /**
   * Returns the contexts of all devices that RDMA CM can use: {@code rdma_get_devices} and {@code
   * rdma_free_devices}.
   *
   * @return the contexts; closing one closes the objects created from it, but not the device
   */
  public static List<Context> list() {
    return list(Providers.system().rdmacm());
  }

  private static synchronized List<Context> list(Librdmacm rdmacm) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment count = arena.allocate(ValueLayout.JAVA_INT);
      long list = rdmacm.rdma_get_devices(count.address());
      List<Long> addresses = new ArrayList<>();
      for (int i = 0; i < count.get(ValueLayout.JAVA_INT, 0); i++) {
        addresses.add(Memory.getLong(list + (long) i * Long.BYTES));
      }
      if (HELD.keySet().containsAll(addresses)) {
        rdmacm.rdma_free_devices(list);
      } // Otherwise the list itself holds the new ones: librdmacm counts a reference for each
      // context in it.
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
    return new Held(VerbsAccess.get().context(segment), provider);
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

  /** Returns the context of an identifier. */
  static synchronized Context at(Librdmacm rdmacm, MemorySegment segment) {
    if (!HELD.containsKey(segment.address())) {
      holdAll(rdmacm);
    }
    return HELD.containsKey(segment.address())
        ? held(segment.address())
        : open(segment).context; // The device was removed, and librdmacm does not list it any more.
  }

  private static void holdAll(Librdmacm rdmacm) {
    try {
      List<Context> _ = list(rdmacm);
    } catch (VerbsException e) {
      // The last device was removed: no context can be held.
    }
  }
}
