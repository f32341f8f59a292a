package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.Verbs;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.life.ObjectText;
import dev.verbena.raw.ibv_mw;
import dev.verbena.raw.ibv_mw_bind;
import dev.verbena.raw.rdma_h;
import dev.verbena.values.MemoryWindowType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;

/**
 * A memory window: remote access to a range of a memory region by a remote key of its own, which is
 * bound and invalidated without registering memory ({@code struct ibv_mw}).
 *
 * {@snippet :
 * MemoryWindow window = MemoryWindow.allocate(pd, MemoryWindowType.TYPE_1);
 * window.bind(queuePair, 1, new WindowBinding(region, 0, 4096, Set.of(AccessFlag.REMOTE_READ)));
 * // after its completion: send window.rkey() to the peer
 * }
 *
 * <p>A window of type 1 is bound by {@link #bind}, a window of type 2 by a send request. One thread
 * at a time may change a window. Closing it calls {@code ibv_dealloc_mw}. See {@code
 * ibv_alloc_mw(3)} and {@code ibv_bind_mw(3)}.
 */
public final class MemoryWindow extends Resource {
  private final ProtectionDomain domain;
  private final int handle;
  private final MemoryWindowType type;
  private final MemorySegment struct;

  /** The region that a window of type 1 is bound to. */
  private MemoryRegion region;

  private MemoryWindow(ProtectionDomain domain, MemoryWindowType type, Core core) {
    super(core);
    this.handle = Memory.getInt(core.address() + ibv_mw.handle$offset());
    this.domain = domain;
    this.type = type;
    this.struct = Memory.at(core.address(), ibv_mw.sizeof());
  }

  /**
   * Allocates a memory window: {@code ibv_alloc_mw}.
   *
   * @param domain the protection domain
   * @param type the window type, which determines how it is bound
   * @return an unbound window, to be closed
   */
  public static MemoryWindow allocate(ProtectionDomain domain, MemoryWindowType type) {
    try {
      return Core.make(
          List.of(domain),
          () -> domain.verbs().ibv_alloc_mw(domain.address(), type.code()),
          domain.verbs()::ibv_dealloc_mw,
          core -> new MemoryWindow(domain, type, core));
    } catch (VerbsException e) {
      throw Explanation.addIfUnsupported(
          e, domain.context().device() + " does not support memory windows of this type");
    }
  }

  /**
   * Returns the remote key of the window. It changes with each binding. After a failed binding of a
   * window of type 1 it is invalid until the next successful one.
   *
   * @return the rkey
   */
  public int rkey() {
    core.requireOpen();
    return ibv_mw.rkey(struct);
  }

  /**
   * Returns the remote key for the next binding of a window of type 2: {@code ibv_inc_rkey}.
   *
   * @param rkey the current remote key of the window
   * @return the key with its lowest 8 bits incremented
   */
  public static int nextKey(int rkey) {
    return Verbs.ibv_inc_rkey(rkey);
  }

  /**
   * Records the binding of a window of type 2, after its work completion. From now on, closing the
   * region or the queue pair closes the window first: {@code ibv_dereg_mr} fails while a window is
   * bound to the region, and the kernel driver of Soft-RoCE delays {@code ibv_destroy_qp} by a
   * minute while a window of type 2 is bound through the queue pair.
   *
   * @param queuePair the queue pair that the bind request was posted to
   * @param rkey the remote key of the request
   * @param region the region of the request
   */
  public void bound(QueuePair queuePair, int rkey, MemoryRegion region) {
    requireType(MemoryWindowType.TYPE_2);
    requireSameDomain(queuePair, queuePair.domain());
    requireSameDomain(region, region.domain());
    core.whileOpen(
        () -> {
          core.moveTo(domain, region, queuePair);
          ibv_mw.rkey(struct, rkey);
        });
  }

  /**
   * Records that a window of type 2 was invalidated, locally or by the remote peer. The window is
   * unbound and stays open when the region or the queue pair is closed.
   */
  public void invalidated() {
    requireType(MemoryWindowType.TYPE_2);
    core.moveTo(domain);
  }

  /**
   * Posts a request, always signaled, that binds a window of type 1: {@code ibv_bind_mw}. The
   * {@linkplain #rkey remote key} changes immediately and is valid after the completion. From now
   * on, closing the region closes the window first, as a region with a bound window cannot be
   * deregistered.
   *
   * @param queuePair an RC or UC queue pair of the same protection domain
   * @param id the {@code wr_id} of the completion
   * @param binding the range and its access flags
   */
  public void bind(QueuePair queuePair, long id, WindowBinding binding) {
    requireType(MemoryWindowType.TYPE_1);
    requireSameDomain(binding.region(), binding.region().domain());
    post(queuePair, id, binding, domain, binding.region());
    region = binding.region();
  }

  /**
   * Posts a request that unbinds a window of type 1: {@code ibv_bind_mw} with length 0. After its
   * completion the region can be closed without closing the window.
   *
   * @param queuePair an RC or UC queue pair of the same protection domain
   * @param id the {@code wr_id} of the completion
   * @throws IllegalStateException if the window was never bound
   */
  public void unbind(QueuePair queuePair, long id) {
    requireType(MemoryWindowType.TYPE_1);
    if (region == null) {
      throw new IllegalStateException(this + " is not bound");
    }
    // libibverbs also accepts a binding without a region, but librxe dereferences its NULL pointer.
    post(queuePair, id, new WindowBinding(region, 0, 0, Set.of()), domain);
    region = null;
  }

  private void post(QueuePair queuePair, long id, WindowBinding binding, Resource... parents) {
    requireSameDomain(queuePair, queuePair.domain());
    queuePair.requireSendQueue();
    queuePair.requireNoPosting();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment bind = ibv_mw_bind.allocate(arena);
      ibv_mw_bind.wr_id(bind, id);
      ibv_mw_bind.send_flags(bind, rdma_h.IBV_SEND_SIGNALED());
      binding.writeTo(ibv_mw_bind.bind_info(bind));
      Core.whileOpen(
          List.of(queuePair, this, binding.region()),
          () -> {
            queuePair.bind(this, bind);
            core.moveTo(parents);
          });
    }
  }

  private void requireSameDomain(Resource named, ProtectionDomain its) {
    if (!its.isOneWith(domain)) {
      throw new IllegalArgumentException(named + " does not belong to " + domain);
    }
  }

  void requireType(MemoryWindowType needed) {
    if (type != needed) {
      throw new IllegalStateException(
          this + " has " + type + ", but the operation requires " + needed);
    }
  }

  /** {@return the type of the window} */
  public MemoryWindowType type() {
    return type;
  }

  /** {@return the protection domain of the window} */
  public ProtectionDomain domain() {
    return domain;
  }

  @Override
  boolean closesFirst() {
    return true;
  }

  @Override
  public String toString() {
    return ObjectText.of(
        core,
        "memory window " + handle + " of " + domain.context().device(),
        type,
        ObjectText.ifOpen(core, () -> "rkey 0x" + Integer.toHexString(ibv_mw.rkey(struct))));
  }
}
