package dev.verbena.verbs;

import java.util.Set;

/**
 * The move of a queue pair from RESET to INIT, where receives can be posted. Connections need a
 * port and what the peer may do, datagrams a port and a key, raw packets a port; the partition is
 * the first one if not given.
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
   * The port.
   *
   * @param port 1 for the first one
   * @return this
   */
  public ToInit port(int port) {
    attributes.port(port);
    return this;
  }

  /**
   * The partition.
   *
   * @param index a place in the port's table, normally 0
   * @return this
   */
  public ToInit pkeyIndex(int index) {
    attributes.pkeyIndex(index);
    return this;
  }

  /**
   * What the peer may do, where memory regions allow it as well.
   *
   * @param access REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, or the flushes
   * @return this
   */
  public ToInit access(Set<AccessFlag> access) {
    attributes.access(access);
    return this;
  }

  /**
   * What the peer may do, where memory regions allow it as well.
   *
   * @param access REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, or the flushes
   * @return this
   */
  public ToInit access(AccessFlag... access) {
    attributes.access(access);
    return this;
  }

  /**
   * The key that datagrams must carry to be received.
   *
   * @param key keys with the upper bit set need privileges
   * @return this
   */
  public ToInit queueKey(int key) {
    attributes.queueKey(key);
    return this;
  }

  /**
   * Makes the move: {@code ibv_modify_qp}.
   *
   * @throws IllegalStateException naming what is missing or not taken by this transport service
   * @throws dev.verbena.VerbsException if the device refuses, with the reason
   */
  public void apply() {
    queuePair.move(QueuePairState.RESET, attributes.state(QueuePairState.INIT).build());
  }
}
