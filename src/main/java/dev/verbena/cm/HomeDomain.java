package dev.verbena.cm;

import dev.verbena.raw.rdma_cm_id;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.ProtectionDomain;
import java.lang.foreign.MemorySegment;

/**
 * The domain that an identifier's queues belong to if nothing else is said: the one that it was
 * made with, otherwise librdmacm's own for the device.
 *
 * <p>C keeps it in the identifier, and puts the domain of each queue pair in its place, where it
 * stays when the queue pair and that domain are gone.
 */
final class HomeDomain {
  private final NativeId id;
  private final ProtectionDomain given;
  private MemorySegment struct;
  private ProtectionDomain own;

  /** The domain that the identifier was made with; null for librdmacm's own. */
  HomeDomain(NativeId id, ProtectionDomain given) {
    this.id = id;
    this.given = given;
    this.struct = given == null ? null : given.segment();
  }

  /** The domain that the identifier was made with, or null. */
  ProtectionDomain given() {
    return given;
  }

  /** The domain that the identifier was made with, if it is of a device; otherwise null. */
  ProtectionDomain given(MemorySegment verbs) {
    return given != null && given.context().segment().address() == verbs.address() ? given : null;
  }

  /**
   * The domain. To be asked for before a queue pair is made on another one.
   *
   * @throws IllegalStateException if the identifier is not bound to a device
   */
  ProtectionDomain get() {
    return given == null ? librdmacms(id.context()) : given;
  }

  private synchronized ProtectionDomain librdmacms(Context context) {
    if (struct == null) {
      struct = rdma_cm_id.pd(id.struct());
    }
    if (own == null || !own.isOpen()) {
      own = ProtectionDomain.borrow(context, id.owner(), struct);
    }
    return own;
  }

  /** Puts the domain back to where C looks for it. */
  synchronized void restore(MemorySegment identifier) {
    if (struct != null) {
      rdma_cm_id.pd(identifier, struct);
    }
  }
}
