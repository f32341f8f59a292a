package dev.verbena.verbs;

import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairAttribute;
import dev.verbena.values.QueuePairAttributes;
import dev.verbena.values.QueuePairState;
import java.util.Set;

/**
 * The attributes of the state transition of a queue pair from RESET to INIT, where receive requests
 * can be posted.
 *
 * <p>RC and UC queue pairs require the port and the access flags, UD queue pairs the port and the
 * Q_Key, raw packet queue pairs the port. The partition defaults to index 0 of the P_Key table.
 *
 * <p>See {@code ibv_modify_qp(3)}.
 */
public final class ToInit {
  private final QueuePair queuePair;
  private final QueuePairAttributes.Builder attributes = QueuePairAttributes.builder();

  ToInit(QueuePair queuePair) {
    this.queuePair = queuePair;
    if (queuePair.needs(QueuePairState.RESET, QueuePairState.INIT, QueuePairAttribute.PKEY_INDEX)) {
      attributes.pkeyIndex(0);
    }
  }

  /**
   * Sets the local port: {@code port_num}.
   *
   * @param port the port number, 1 for the first port
   * @return this
   */
  public ToInit port(int port) {
    attributes.port(port);
    return this;
  }

  /**
   * Sets the partition: {@code pkey_index}.
   *
   * @param index an index of the P_Key table of the port, usually 0
   * @return this
   */
  public ToInit pkeyIndex(int index) {
    attributes.pkeyIndex(index);
    return this;
  }

  /**
   * Sets the remote operations that the queue pair allows: {@code qp_access_flags}. The memory
   * region must allow them, too.
   *
   * @param access REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, or the flush flags; or none
   * @return this
   */
  public ToInit access(Set<AccessFlag> access) {
    attributes.access(access);
    return this;
  }

  /**
   * Sets the remote operations that the queue pair allows: {@code qp_access_flags}. The memory
   * region must allow them, too.
   *
   * @param access REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, or the flush flags; or none
   * @return this
   */
  public ToInit access(AccessFlag... access) {
    attributes.access(access);
    return this;
  }

  /**
   * Sets the Q_Key that datagrams must carry to be received: {@code qkey}.
   *
   * @param value the Q_Key; one with the most significant bit set needs privileges
   * @return this
   */
  public ToInit queueKey(int value) {
    attributes.queueKey(value);
    return this;
  }

  /**
   * Performs the state transition: {@code ibv_modify_qp}.
   *
   * @throws IllegalStateException if a required attribute is missing or one is not allowed, naming
   *     it
   * @throws dev.verbena.VerbsException if {@code ibv_modify_qp} fails
   */
  public void apply() {
    queuePair.transition(QueuePairState.RESET, attributes.state(QueuePairState.INIT).build());
  }
}
