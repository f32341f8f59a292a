package dev.verbena.cm;

import dev.verbena.internal.Memory;
import dev.verbena.internal.Provider;
import dev.verbena.verbs.Context;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The device contexts that librdmacm opened: one for each device, which stay open as long as the
 * library is loaded.
 *
 * <p>Identifiers on one device share its context, so that they may share domains and queues.
 */
public final class Contexts {
  private static final Map<Long, Context> OPEN = new ConcurrentHashMap<>();

  private Contexts() {}

  /**
   * The contexts of all devices that RDMA CM can use: {@code rdma_get_devices} and {@code
   * rdma_free_devices}.
   *
   * @return the contexts; closing one closes what was made on it, but leaves the device open
   */
  public static List<Context> list() {
    var rdmacm = Provider.system().rdmacm();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment count = arena.allocate(ValueLayout.JAVA_INT);
      long list = rdmacm.rdma_get_devices(count.address());
      try {
        List<Context> contexts = new ArrayList<>();
        for (int i = 0; i < count.get(ValueLayout.JAVA_INT, 0); i++) {
          contexts.add(at(MemorySegment.ofAddress(Memory.getLong(list + (long) i * Long.BYTES))));
        }
        return List.copyOf(contexts);
      } finally {
        rdmacm.rdma_free_devices(list);
      }
    }
  }

  static Context at(MemorySegment segment) {
    return OPEN.compute(
        segment.address(),
        (address, known) -> known != null && known.isOpen() ? known : Context.borrow(segment));
  }
}
