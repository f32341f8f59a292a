package dev.verbena.cm;

import dev.verbena.VerbsException;
import dev.verbena.internal.Librdmacm;
import dev.verbena.internal.Memory;
import dev.verbena.internal.Provider;
import dev.verbena.verbs.Context;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The device contexts that librdmacm opened: one for each device. Identifiers on one device share
 * its context, so that they may share domains and queues.
 *
 * <p>librdmacm by itself would free the context of a device that was removed, some time after the
 * last identifier on it was closed. It must not, as long as anybody may still have a {@link
 * Context} of it: so it is held here until the process ends. Calls on it fail then, as those of any
 * device that is gone; and a kernel that waits for its users before it removes a device, as with
 * Soft-RoCE, waits for the end of the process.
 */
public final class Contexts {
  /** Those that C will not free, so that no other will ever be at the same address. */
  private static final Map<Long, Context> HELD = new HashMap<>();

  private Contexts() {}

  /**
   * The contexts of all devices that RDMA CM can use: {@code rdma_get_devices} and {@code
   * rdma_free_devices}.
   *
   * @return the contexts; closing one closes what was made on it, but leaves the device open
   */
  public static synchronized List<Context> list() {
    Librdmacm rdmacm = Provider.system().rdmacm();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment count = arena.allocate(ValueLayout.JAVA_INT);
      long list = rdmacm.rdma_get_devices(count.address());
      List<Long> addresses = new ArrayList<>();
      for (int i = 0; i < count.get(ValueLayout.JAVA_INT, 0); i++) {
        addresses.add(Memory.getLong(list + (long) i * Long.BYTES));
      }
      if (HELD.keySet().containsAll(addresses)) {
        rdmacm.rdma_free_devices(list);
      } // Otherwise the list itself is what holds the new ones: C counts each context in it.
      return addresses.stream().map(Contexts::held).toList();
    }
  }

  private static Context held(long address) {
    return HELD.compute(
        address,
        (key, known) ->
            known != null && known.isOpen()
                ? known
                : Context.borrow(MemorySegment.ofAddress(address)));
  }

  /** The context of an identifier. */
  static synchronized Context at(MemorySegment segment) {
    if (!HELD.containsKey(segment.address())) {
      holdAll();
    }
    return HELD.containsKey(segment.address())
        ? held(segment.address())
        : Context.borrow(segment); // Its device is gone already, and C lists it no longer.
  }

  private static void holdAll() {
    try {
      list();
    } catch (VerbsException e) {
      // The last device is gone, too: nothing can be held.
    }
  }
}
