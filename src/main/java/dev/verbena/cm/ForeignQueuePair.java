package dev.verbena.cm;

import dev.verbena.internal.Ece;
import dev.verbena.internal.Librdmacm;
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
 *   <li>The active side connects with {@link ConnectionParameters#withQueuePairNumber}.
 *   <li>The passive side moves its queue pair to RTR and RTS, and accepts likewise.
 *   <li>At {@link EventType#CONNECT_RESPONSE} the active side moves its queue pair to RTR and RTS,
 *       and {@linkplain #establish establishes}; the passive side gets {@link
 *       EventType#ESTABLISHED}.
 * </ol>
 */
public final class ForeignQueuePair {
  private final NativeId id;

  ForeignQueuePair(NativeId id) {
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
          (rdmacm, pointer) -> rdmacm.rdma_init_qp_attr(pointer, attr.address(), mask.address()));
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
    id.call("establishing", Librdmacm::rdma_establish);
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
    Ece.set(
        local.vendor(),
        local.options(),
        ece ->
            id.call(
                "setting the vendor's options",
                (rdmacm, pointer) -> rdmacm.rdma_set_local_ece(pointer, ece)));
  }

  /**
   * What the vendor's options of the peer are: {@code rdma_get_remote_ece}.
   *
   * @return what came with the request or the response; zeros where nothing did
   * @throws IllegalStateException if the identifier has a queue pair, whose options librdmacm knows
   */
  public EnhancedConnectionEstablishment remoteOptions() {
    id.requireNoQueuePair("librdmacm exchanges its options");
    return Ece.get(
        ece ->
            id.call(
                "asking for the vendor's options",
                (rdmacm, pointer) -> rdmacm.rdma_get_remote_ece(pointer, ece)),
        EnhancedConnectionEstablishment::new);
  }
}
