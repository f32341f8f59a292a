package dev.verbena.cm;

import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.life.Core;
import dev.verbena.raw.ibv_pd;
import dev.verbena.raw.rdma_cm_id;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.ProtectionDomain;
import java.lang.foreign.MemorySegment;

/**
 * The default protection domain of an identifier's queues: the one that it was created with,
 * otherwise librdmacm's default domain of the device.
 *
 * <p>librdmacm stores it in the identifier, and overwrites it with the domain of each queue pair,
 * which remains there after the queue pair and that domain are closed.
 */
final class HomeDomain {
  private final NativeId id;
  private final ProtectionDomain given;
  private MemorySegment struct;
  private ProtectionDomain own;

  /** The domain that the identifier was created with; null for librdmacm's default. */
  HomeDomain(NativeId id, ProtectionDomain given) {
    this.id = id;
    this.given = given;
    this.struct = given == null ? null : given.segment();
  }

  /** Returns the domain that the identifier was created with, or null. */
  ProtectionDomain given() {
    return given;
  }

  /**
   * Returns the domain that the identifier was created with, if it is of the given device;
   * otherwise null.
   */
  ProtectionDomain given(MemorySegment verbs) {
    return given != null && given.context().segment().address() == verbs.address() ? given : null;
  }

  /**
   * Returns the domain. To be called before a queue pair is created in another one.
   *
   * @throws IllegalArgumentException if the identifier was created with a domain of another context
   * @throws IllegalStateException if the identifier is not bound to a device
   */
  ProtectionDomain get() {
    Context context = id.context();
    if (given == null) {
      return librdmacms(context);
    }
    Core.requireSame(context, given, given.context());
    return given;
  }

  private synchronized ProtectionDomain librdmacms(Context context) {
    if (struct == null) {
      struct = rdma_cm_id.pd(id.struct());
    }
    if (own == null || !own.isOpen()) {
      own = ProtectionDomain.borrow(context, Memory.at(struct.address(), ibv_pd.sizeof()));
      Core.of(own).closeWith(id.owner());
    }
    return own;
  }

  /** Stores the domain in the identifier again, where librdmacm reads it. */
  synchronized void restore(MemorySegment identifier) {
    if (struct != null) {
      rdma_cm_id.pd(identifier, struct);
    }
  }
}
