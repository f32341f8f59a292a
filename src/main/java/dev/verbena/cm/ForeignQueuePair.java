package dev.verbena.cm;

import dev.verbena.raw.ibv_ece;
import dev.verbena.raw.ibv_qp_attr;
import dev.verbena.verbs.EnhancedConnectionEstablishment;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairAttributes;
import dev.verbena.verbs.QueuePairState;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * How to connect a queue pair that is not the identifier's: librdmacm makes the connection, the
 * caller takes the queue pair through its states.
 *
 * <ol>
 *   <li>Each side moves its queue pair to INIT, with {@link #attributesFor}.
 *   <li>The active side connects with {@link ConnectionParameters#withQueuePair}.
 *   <li>The passive side moves its queue pair to RTR and RTS, and accepts likewise.
 *   <li>At {@link EventType#CONNECT_RESPONSE} the active side moves its queue pair to RTR and RTS,
 *       and {@linkplain #establish establishes}; the passive side gets {@link
 *       EventType#ESTABLISHED}.
 * </ol>
 */
public final class ForeignQueuePair {
  private final ConnectionId id;

  ForeignQueuePair(ConnectionId id) {
    this.id = id;
  }

  /**
   * What the queue pair needs to be moved to a state: {@code rdma_init_qp_attr}.
   *
   * @param state INIT, RTR or RTS
   * @return attributes for {@link QueuePair#modify}
   */
  public QueuePairAttributes attributesFor(QueuePairState state) {
    id.requireDevice();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = ibv_qp_attr.allocate(arena);
      MemorySegment mask = arena.allocate(ValueLayout.JAVA_INT);
      ibv_qp_attr.qp_state(attr, state.code());
      id.call(
          "attributes for " + state,
          () -> id.rdmacm().rdma_init_qp_attr(id.pointer(), attr.address(), mask.address()));
      return QueuePairAttributes.copyOf(attr, mask.get(ValueLayout.JAVA_INT, 0));
    }
  }

  /**
   * Completes the connection, after {@link EventType#CONNECT_RESPONSE}: {@code rdma_establish}. The
   * peer gets {@link EventType#ESTABLISHED}.
   *
   * @throws IllegalStateException if the identifier has a queue pair, which is connected without
   *     this
   */
  public void establish() {
    id.requireNoQueuePair("it establishes by itself");
    id.call("establishing", () -> id.rdmacm().rdma_establish(id.pointer()));
  }

  /**
   * Says what the vendor's options of the queue pair are: {@code rdma_set_local_ece}. They go out
   * with {@link ConnectionId#connect} and {@link ConnectionId#accept}.
   *
   * @param local the options of the queue pair
   * @throws IllegalStateException if the identifier has a queue pair, whose options librdmacm knows
   */
  public void localOptions(EnhancedConnectionEstablishment local) {
    if (local.vendor() == 0) {
      throw new IllegalArgumentException("vendor 0 has no options");
    }
    id.requireNoQueuePair("librdmacm exchanges its options");
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment ece = ibv_ece.allocate(arena);
      ibv_ece.vendor_id(ece, local.vendor());
      ibv_ece.options(ece, local.options());
      id.call("setting the vendor's options", () -> set(ece));
    }
  }

  private void set(MemorySegment ece) {
    id.rdmacm().rdma_set_local_ece(id.pointer(), ece.address());
  }

  /**
   * What the vendor's options of the peer are: {@code rdma_get_remote_ece}.
   *
   * @return what came with the request or the response; zeros where nothing did
   * @throws IllegalStateException if the identifier has a queue pair, whose options librdmacm knows
   */
  public EnhancedConnectionEstablishment remoteOptions() {
    id.requireNoQueuePair("librdmacm exchanges its options");
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment ece = ibv_ece.allocate(arena);
      id.call("asking for the vendor's options", () -> get(ece));
      return new EnhancedConnectionEstablishment(ibv_ece.vendor_id(ece), ibv_ece.options(ece));
    }
  }

  private void get(MemorySegment ece) {
    id.rdmacm().rdma_get_remote_ece(id.pointer(), ece.address());
  }
}
