package dev.verbena.verbs;

import java.util.Set;

/**
 * The move of a queue pair from INIT to RTR, where it receives. Connections need the peer's number,
 * its PSN, the path to it and the path's MTU; reliable ones serve one read at a time and use an RNR
 * timer of 0.64 ms if not told otherwise. Datagrams and raw packets need nothing.
 */
public final class ToReadyToReceive {
  private final QueuePair queuePair;
  private final QueuePairAttributes.Builder attributes = QueuePairAttributes.builder();

  ToReadyToReceive(QueuePair queuePair) {
    this.queuePair = queuePair;
    if (queuePair.needs(
        QueuePairState.INIT, QueuePairState.RTR, QueuePairAttribute.MIN_RNR_TIMER)) {
      attributes.readsAsTarget(1).minRnrTimer(BringUp.MIN_RNR_TIMER);
    }
  }

  /**
   * The path to the peer.
   *
   * @param path where the peer is
   * @return this
   */
  public ToReadyToReceive path(AddressVector path) {
    attributes.path(path);
    return this;
  }

  /**
   * The largest packet of the path.
   *
   * @param mtu no more than the active MTU of either port
   * @return this
   */
  public ToReadyToReceive pathMtu(Mtu mtu) {
    attributes.pathMtu(mtu);
    return this;
  }

  /**
   * The peer's queue pair.
   *
   * @param number its number
   * @return this
   */
  public ToReadyToReceive destination(int number) {
    attributes.destination(number);
    return this;
  }

  /**
   * The number of the first packet that is received.
   *
   * @param psn the peer's send PSN
   * @return this
   */
  public ToReadyToReceive receivePsn(int psn) {
    attributes.receivePsn(psn);
    return this;
  }

  /**
   * How many RDMA reads and atomics of the peer are served at a time.
   *
   * @param reads no less than the peer has under way
   * @return this
   */
  public ToReadyToReceive readsAsTarget(int reads) {
    attributes.readsAsTarget(reads);
    return this;
  }

  /**
   * How long the peer waits when there is no receive for what it sent, in InfiniBand's code.
   *
   * @param timer 1 for 0.01 ms, 12 for 0.64 ms, 31 for 491 ms, 0 for 655 ms
   * @return this
   */
  public ToReadyToReceive minRnrTimer(int timer) {
    attributes.minRnrTimer(timer);
    return this;
  }

  /**
   * The path to change to when the first one fails.
   *
   * @param alternate another path to the peer
   * @return this
   */
  public ToReadyToReceive alternatePath(AlternatePath alternate) {
    attributes.alternatePath(alternate);
    return this;
  }

  /**
   * What the peer may do, where memory regions allow it as well.
   *
   * @param access REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, or the flushes
   * @return this
   */
  public ToReadyToReceive access(Set<AccessFlag> access) {
    attributes.access(access);
    return this;
  }

  /**
   * What the peer may do, where memory regions allow it as well.
   *
   * @param access REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, or the flushes
   * @return this
   */
  public ToReadyToReceive access(AccessFlag... access) {
    attributes.access(access);
    return this;
  }

  /**
   * The partition.
   *
   * @param index a place in the port's table, normally 0
   * @return this
   */
  public ToReadyToReceive pkeyIndex(int index) {
    attributes.pkeyIndex(index);
    return this;
  }

  /**
   * The key that datagrams must carry to be received.
   *
   * @param key keys with the upper bit set need privileges
   * @return this
   */
  public ToReadyToReceive queueKey(int key) {
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
    queuePair.move(QueuePairState.INIT, attributes.state(QueuePairState.RTR).build());
  }
}
