package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.internal.Memory;
import dev.verbena.internal.Verbs;
import dev.verbena.raw.ibv_mw;
import dev.verbena.raw.ibv_mw_bind;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;

/**
 * A view of a region with a key of its own, which can be given to peers and taken back without
 * registering anything: {@code struct ibv_mw}.
 *
 * <p>Closing it calls {@code ibv_dealloc_mw}.
 */
public final class MemoryWindow extends Resource {
  private final ProtectionDomain domain;
  private final MemoryWindowType type;
  private final MemorySegment struct;

  /** What a window of type 1 is bound to. */
  private MemoryRegion region;

  private MemoryWindow(ProtectionDomain domain, MemoryWindowType type, long address) {
    super(address, () -> domain.verbs().ibv_dealloc_mw(address));
    this.domain = domain;
    this.type = type;
    this.struct = Memory.at(address, ibv_mw.sizeof());
  }

  static MemoryWindow allocate(ProtectionDomain domain, MemoryWindowType type) {
    try {
      return make(
          List.of(domain),
          () ->
              new MemoryWindow(
                  domain, type, domain.verbs().ibv_alloc_mw(domain.address(), type.code())));
    } catch (VerbsException e) {
      throw e.isUnsupported()
          ? e.explained(domain.context().device() + " has no memory windows of this type")
          : e;
    }
  }

  /**
   * The key that peers name the window by. It changes with every binding. After a binding of a
   * window of type 1 that completed with an error it names nothing, until another one succeeds.
   *
   * @return the rkey
   */
  public int rkey() {
    requireOpen();
    return ibv_mw.rkey(struct);
  }

  /**
   * The key after a given one, for the next binding of a window of type 2: {@code ibv_inc_rkey}.
   *
   * @param rkey a key of the window
   * @return the same key with its lowest 8 bits counted up
   */
  public static int nextKey(int rkey) {
    return Verbs.ibv_inc_rkey(rkey);
  }

  /**
   * Notes what a work request has bound a window of type 2 to, after that completed. From now on
   * closing the region or the queue pair closes the window first: {@code ibv_dereg_mr} fails while
   * a window is bound to the region, and the kernel of Soft-RoCE lets {@code ibv_destroy_qp} wait
   * for a minute while a window of type 2 is bound through the queue pair.
   *
   * @param queuePair the queue pair that the request was posted to
   * @param rkey the key of the request
   * @param region the region of the request
   */
  public void bound(QueuePair queuePair, int rkey, MemoryRegion region) {
    requireType(MemoryWindowType.TYPE_2);
    moveTo(domain, region, queuePair);
    ibv_mw.rkey(struct, rkey);
  }

  /**
   * Notes that the key of a window of type 2 was invalidated, by this side or by a peer: the window
   * is bound to nothing any more, and stays open when the region or the queue pair is closed.
   */
  public void invalidated() {
    requireType(MemoryWindowType.TYPE_2);
    moveTo(domain);
  }

  /**
   * Posts the binding of a window of type 1, whose completion is signaled: {@code ibv_bind_mw}. The
   * {@linkplain #rkey key} is another one from now on, and is good once the request completed. From
   * now on closing the region closes the window first: C gives back no region with a window on it.
   *
   * @param queuePair an RC or UC queue pair of the same domain
   * @param id identifies the completion
   * @param binding what to show, and to whom
   */
  public void bind(QueuePair queuePair, long id, WindowBinding binding) {
    requireType(MemoryWindowType.TYPE_1);
    if (!binding.region().domain().isOneWith(domain)) {
      throw new IllegalArgumentException(binding.region() + " is not of " + domain);
    }
    post(queuePair, id, binding);
    region = binding.region();
    moveTo(domain, region);
  }

  /**
   * Posts the end of the binding of a window of type 1: {@code ibv_bind_mw} with length 0. Once it
   * completed, the region can be closed without the window.
   *
   * @param queuePair an RC or UC queue pair of the same domain
   * @param id identifies the completion
   * @throws IllegalStateException if the window was never bound
   */
  public void unbind(QueuePair queuePair, long id) {
    requireType(MemoryWindowType.TYPE_1);
    if (region == null) {
      throw new IllegalStateException(this + " is not bound");
    }
    // C knows a form without region as well, in which librxe follows a NULL pointer.
    post(queuePair, id, new WindowBinding(region, 0, 0, Set.of()));
    region = null;
    moveTo(domain);
  }

  private void post(QueuePair queuePair, long id, WindowBinding binding) {
    if (!queuePair.domain().isOneWith(domain)) {
      throw new IllegalArgumentException(queuePair + " is not of " + domain);
    }
    queuePair.requireSendQueue();
    queuePair.requireNoPosting();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment bind = ibv_mw_bind.allocate(arena);
      ibv_mw_bind.wr_id(bind, id);
      ibv_mw_bind.send_flags(bind, rdma_h.IBV_SEND_SIGNALED());
      binding.writeTo(ibv_mw_bind.bind_info(bind));
      whileOpen(
          List.of(queuePair, this, binding.region()),
          () -> domain.verbs().ibv_bind_mw(queuePair.address(), address(), bind.address()));
    }
  }

  void requireType(MemoryWindowType needed) {
    if (type != needed) {
      throw new IllegalStateException(this + " is of " + type + ", this is for " + needed);
    }
  }

  /**
   * How the window is bound.
   *
   * @return the type it was made with
   */
  public MemoryWindowType type() {
    return type;
  }

  /**
   * The domain that the window belongs to.
   *
   * @return the domain
   */
  public ProtectionDomain domain() {
    return domain;
  }

  @Override
  public String toString() {
    return "memory window of " + domain.context().device();
  }
}
