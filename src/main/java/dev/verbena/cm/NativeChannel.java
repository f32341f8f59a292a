package dev.verbena.cm;

import dev.verbena.internal.Librdmacm;
import dev.verbena.internal.time.ScopedLock;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * A {@code rdma_event_channel} with its identifiers, and the lock of both: it is held while
 * librdmacm reads an event, and while an identifier is changed that librdmacm may be reading.
 */
final class NativeChannel {
  private final Librdmacm rdmacm;
  private final long address;
  private final ScopedLock reading = new ScopedLock();
  private final Map<Long, Object> ids = new ConcurrentHashMap<>();

  NativeChannel(Librdmacm rdmacm, long address) {
    this.rdmacm = rdmacm;
    this.address = address;
  }

  Librdmacm rdmacm() {
    return rdmacm;
  }

  long address() {
    return address;
  }

  ScopedLock reading() {
    return reading;
  }

  /** Adds an identifier of this channel, with its Java object. */
  void add(long id, Object owner) {
    ids.put(id, owner);
  }

  void remove(long id) {
    ids.remove(id);
  }

  /** Returns the Java object of an identifier of this channel, or null. */
  @Nullable Object owner(long id) {
    return ids.get(id);
  }

  void destroy() {
    try (var _ = reading.hold()) {
      rdmacm.rdma_destroy_event_channel(address);
    }
  }
}
