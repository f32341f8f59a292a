package dev.verbena.verbs;

import java.util.Set;

/**
 * The move of a queue pair from RTR to RTS, where it sends. Connections and datagrams need a PSN;
 * reliable connections wait 67 ms for an acknowledgement, send again 7 times, wait for receives of
 * the peer for ever and have one read under way if not told otherwise. Raw packets need nothing.
 */
public final class ToReadyToSend {
  private final QueuePair queuePair;
  private final QueuePairAttributes.Builder attributes = QueuePairAttributes.builder();

  ToReadyToSend(QueuePair queuePair) {
    this.queuePair = queuePair;
    if (queuePair.needs(QueuePairState.RTR, QueuePairState.RTS, QueuePairAttribute.TIMEOUT)) {
      attributes.timeout(BringUp.TIMEOUT);
    }
    if (queuePair.needs(QueuePairState.RTR, QueuePairState.RTS, QueuePairAttribute.RETRY_CNT)) {
      attributes.retryCount(BringUp.RETRY_COUNT).rnrRetry(BringUp.RNR_RETRY).readsAsInitiator(1);
    }
  }

  /**
   * The number of the first packet that is sent.
   *
   * @param psn 24 bits, best at random
   * @return this
   */
  public ToReadyToSend sendPsn(int psn) {
    attributes.sendPsn(psn);
    return this;
  }

  /**
   * How long to wait for an acknowledgement.
   *
   * @param timeout n, for 4.096 microseconds times 2 to the power of n; 0 for ever, 14 is usual
   * @return this
   */
  public ToReadyToSend timeout(int timeout) {
    attributes.timeout(timeout);
    return this;
  }

  /**
   * How often to send again what is not acknowledged.
   *
   * @param count 0 to 7, 7 is usual
   * @return this
   */
  public ToReadyToSend retryCount(int count) {
    attributes.retryCount(count);
    return this;
  }

  /**
   * How often to send again what the peer had no receive for.
   *
   * @param count 0 to 6, or 7 for ever
   * @return this
   */
  public ToReadyToSend rnrRetry(int count) {
    attributes.rnrRetry(count);
    return this;
  }

  /**
   * How many RDMA reads and atomics may be under way.
   *
   * @param reads no more than the peer serves
   * @return this
   */
  public ToReadyToSend readsAsInitiator(int reads) {
    attributes.readsAsInitiator(reads);
    return this;
  }

  /**
   * How long the peer waits when there is no receive for what it sent, in InfiniBand's code.
   *
   * @param timer 1 for 0.01 ms, 12 for 0.64 ms, 31 for 491 ms, 0 for 655 ms
   * @return this
   */
  public ToReadyToSend minRnrTimer(int timer) {
    attributes.minRnrTimer(timer);
    return this;
  }

  /**
   * The path to change to when the first one fails.
   *
   * @param alternate another path to the peer
   * @return this
   */
  public ToReadyToSend alternatePath(AlternatePath alternate) {
    attributes.alternatePath(alternate);
    return this;
  }

  /**
   * What to do with the alternate path.
   *
   * @param state REARM to load it, MIGRATED to take it
   * @return this
   */
  public ToReadyToSend migrationState(MigrationState state) {
    attributes.migrationState(state);
    return this;
  }

  /**
   * What the peer may do, where memory regions allow it as well.
   *
   * @param access REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, or the flushes
   * @return this
   */
  public ToReadyToSend access(Set<AccessFlag> access) {
    attributes.access(access);
    return this;
  }

  /**
   * What the peer may do, where memory regions allow it as well.
   *
   * @param access REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, or the flushes
   * @return this
   */
  public ToReadyToSend access(AccessFlag... access) {
    attributes.access(access);
    return this;
  }

  /**
   * The key that datagrams must carry to be received.
   *
   * @param key keys with the upper bit set need privileges
   * @return this
   */
  public ToReadyToSend queueKey(int key) {
    attributes.queueKey(key);
    return this;
  }

  /**
   * How fast to send.
   *
   * @param kilobits kbit/s; 0 for no limit
   * @return this
   */
  public ToReadyToSend rateLimit(long kilobits) {
    attributes.rateLimit(kilobits);
    return this;
  }

  /**
   * Makes the move: {@code ibv_modify_qp}.
   *
   * @throws IllegalStateException naming what is missing or not taken by this transport service
   * @throws dev.verbena.VerbsException if the device refuses, with the reason
   */
  public void apply() {
    queuePair.move(QueuePairState.RTR, attributes.state(QueuePairState.RTS).build());
  }
}
