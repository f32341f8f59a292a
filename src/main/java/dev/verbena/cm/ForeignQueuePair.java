package dev.verbena.cm;

import dev.verbena.internal.Ece;
import dev.verbena.internal.Librdmacm;
import dev.verbena.raw.ibv_qp_attr;
import dev.verbena.values.EnhancedConnectionEstablishment;
import dev.verbena.values.QueuePairAttributes;
import dev.verbena.values.QueuePairState;
import dev.verbena.verbs.QueuePair;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Operations to connect a queue pair that librdmacm did not create: {@link
 * ConnectionId#foreignQueuePair()}. librdmacm establishes the connection, the caller makes the
 * state transitions of the queue pair:
 *
 * <ol>
 *   <li>Both sides modify their queue pairs to INIT, with {@link #attributesFor}.
 *   <li>The active side connects with {@link ConnectionParameters#withQueuePairNumber}.
 *   <li>The passive side modifies its queue pair to RTR and RTS, and accepts with the same
 *       parameters.
 *   <li>On {@link EventType#CONNECT_RESPONSE} the active side modifies its queue pair to RTR and
 *       RTS, and calls {@link #establish}; the passive side receives {@link EventType#ESTABLISHED}.
 * </ol>
 */
public final class ForeignQueuePair {
  private final NativeId id;

  ForeignQueuePair(NativeId id) {
    this.id = id;
  }

  /**
   * Returns the attributes of a state transition of the queue pair: {@code rdma_init_qp_attr}.
   *
   * @param state the new state: INIT, RTR or RTS
   * @return the attributes, for {@link QueuePair#modify}
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
   * Establishes the connection, after {@link EventType#CONNECT_RESPONSE}: {@code rdma_establish}.
   * The peer receives {@link EventType#ESTABLISHED}.
   *
   * @throws IllegalStateException if the identifier has a queue pair, which librdmacm establishes
   */
  public void establish() {
    id.requireNoQueuePair("librdmacm establishes its connection");
    id.call("establishing", Librdmacm::rdma_establish);
    id.connected(true);
  }

  /**
   * Sets the ECE options of the queue pair: {@code rdma_set_local_ece}. {@link
   * ConnectionId#connect} and {@link ConnectionId#accept} send them.
   *
   * @param local the ECE options of the queue pair
   * @throws IllegalStateException if the identifier has a queue pair, whose options librdmacm
   *     exchanges
   */
  public void localOptions(EnhancedConnectionEstablishment local) {
    if (local.vendor() == 0) {
      throw new IllegalArgumentException("the vendor id of ECE options must not be 0");
    }
    id.requireNoQueuePair("librdmacm exchanges its options");
    Ece.set(
        local.vendor(),
        local.options(),
        ece ->
            id.call(
                "setting the ECE options",
                (rdmacm, pointer) -> rdmacm.rdma_set_local_ece(pointer, ece)));
  }

  /**
   * Returns the ECE options of the peer: {@code rdma_get_remote_ece}.
   *
   * @return the options in the request or the response; zeros if there were none
   * @throws IllegalStateException if the identifier has a queue pair, whose options librdmacm
   *     exchanges
   */
  public EnhancedConnectionEstablishment remoteOptions() {
    id.requireNoQueuePair("librdmacm exchanges its options");
    return Ece.get(
        ece ->
            id.call(
                "querying the ECE options of the peer",
                (rdmacm, pointer) -> rdmacm.rdma_get_remote_ece(pointer, ece)),
        EnhancedConnectionEstablishment::new);
  }

  @Override
  public String toString() {
    return "foreign queue pair of " + id;
  }
}
