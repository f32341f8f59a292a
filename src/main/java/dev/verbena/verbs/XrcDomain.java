package dev.verbena.verbs;

import dev.verbena.NativeFlag;
import dev.verbena.VerbsException;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.life.Core;
import dev.verbena.raw.ibv_xrcd_init_attr;
import dev.verbena.raw.rdma_h;
import dev.verbena.values.XrcDomainFlag;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;

/**
 * An extended reliable connection (XRC) domain: {@code struct ibv_xrcd}. Its queue pairs deliver
 * messages to the shared receive queues of all processes that opened the domain. Get one with
 * {@link Context#openXrcDomain()}.
 *
 * <p>Closing it calls {@code ibv_close_xrcd}. See {@code ibv_open_xrcd(3)}.
 */
public final class XrcDomain extends Resource {
  private final Context context;

  private XrcDomain(Context context, Core core) {
    super(core);
    this.context = context;
  }

  static XrcDomain open(Context context, int descriptor, Set<XrcDomainFlag> flags) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = ibv_xrcd_init_attr.allocate(arena);
      ibv_xrcd_init_attr.comp_mask(
          attr, rdma_h.IBV_XRCD_INIT_ATTR_FD() | rdma_h.IBV_XRCD_INIT_ATTR_OFLAGS());
      ibv_xrcd_init_attr.fd(attr, descriptor);
      ibv_xrcd_init_attr.oflags(attr, (int) NativeFlag.mask(flags));
      return Core.make(
          List.of(context),
          () -> context.verbs().ibv_open_xrcd(context.address(), attr.address()),
          context.verbs()::ibv_close_xrcd,
          core -> new XrcDomain(context, core));
    } catch (VerbsException e) {
      throw e.isUnsupported() ? Explanation.add(e, context.device() + " does not support XRC") : e;
    }
  }

  /**
   * Creates an XRC_RECV queue pair: {@code ibv_create_qp_ex}. It has no send and receive queue:
   * senders name the shared receive queue of this domain that receives their message.
   *
   * @return a queue pair in state RESET, to be closed
   */
  public QueuePair createQueuePair() {
    core.requireOpen();
    return new QueuePairBuilder(this).create();
  }

  /**
   * Opens an XRC_RECV queue pair that another process created in this domain: {@code ibv_open_qp}.
   * It is destroyed when the last process closes it.
   *
   * @param number the QPN
   * @return the queue pair, to be closed
   */
  public QueuePair openQueuePair(int number) {
    return QueuePair.open(this, number);
  }

  /**
   * Returns the context of the domain.
   *
   * @return the context
   */
  public Context context() {
    return context;
  }

  @Override
  public String toString() {
    return "XRC domain of " + context.device();
  }
}
