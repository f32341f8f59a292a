package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.raw.ibv_xrcd_init_attr;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;

/**
 * A domain of extended reliable connections: {@code struct ibv_xrcd}. Its shared receive queues are
 * reached through its queue pairs, from whichever process either was made.
 *
 * <p>Closing it calls {@code ibv_close_xrcd}.
 */
public final class XrcDomain extends Resource {
  private final Context context;

  private XrcDomain(Context context, long address) {
    super(address, () -> context.verbs().ibv_close_xrcd(address));
    this.context = context;
  }

  static XrcDomain open(Context context, int descriptor, Set<XrcDomainFlag> flags) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = ibv_xrcd_init_attr.allocate(arena);
      ibv_xrcd_init_attr.comp_mask(
          attr, rdma_h.IBV_XRCD_INIT_ATTR_FD() | rdma_h.IBV_XRCD_INIT_ATTR_OFLAGS());
      ibv_xrcd_init_attr.fd(attr, descriptor);
      ibv_xrcd_init_attr.oflags(attr, (int) Flags.mask(flags));
      return make(
          List.of(context),
          () ->
              new XrcDomain(
                  context, context.verbs().ibv_open_xrcd(context.address(), attr.address())));
    } catch (VerbsException e) {
      throw e.isUnsupported() ? e.explained(context.device() + " has no XRC") : e;
    }
  }

  /**
   * Makes the receiving end of a connection: {@code ibv_create_qp_ex}. It has no queues of its own:
   * senders name the shared receive queue of this domain that takes their message.
   *
   * @return a queue pair in state RESET, to be closed
   */
  public QueuePair createQueuePair() {
    requireOpen();
    return new QueuePairBuilder(this).create();
  }

  /**
   * Opens the receiving end of a connection that another process made in this domain: {@code
   * ibv_open_qp}. It lives until the last process closed it.
   *
   * @param number the queue pair's number
   * @return the queue pair, to be closed
   */
  public QueuePair openQueuePair(int number) {
    return QueuePair.open(this, number);
  }

  /**
   * The context that the domain was opened on.
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
