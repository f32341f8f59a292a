package dev.verbena.cm;

import dev.verbena.internal.Librdmacm;
import dev.verbena.verbs.Resource;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A {@code rdma_event_channel}, the identifiers that report on it, and the lock that is held while
 * librdmacm reads an event, and by whoever changes what librdmacm may then be looking at.
 */
final class NativeChannel {
  private final Librdmacm rdmacm;
  private final long address;
  private final ReentrantLock reading = new ReentrantLock();
  private final Map<Long, Resource> ids = new ConcurrentHashMap<>();

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

  ReentrantLock reading() {
    return reading;
  }

  /** Says that an identifier reports here, and which object it belongs to. */
  void add(long id, Resource owner) {
    ids.put(id, owner);
  }

  void remove(long id) {
    ids.remove(id);
  }

  /** The object of an identifier that reports here, or null. */
  @Nullable Resource owner(long id) {
    return ids.get(id);
  }

  void destroy() {
    reading.lock();
    try {
      rdmacm.rdma_destroy_event_channel(address);
    } finally {
      reading.unlock();
    }
  }
}
