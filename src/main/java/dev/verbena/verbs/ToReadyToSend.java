package dev.verbena.verbs;

import dev.verbena.values.AccessFlag;
import dev.verbena.values.AckTimeout;
import dev.verbena.values.AlternatePath;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.MigrationState;
import dev.verbena.values.QueuePairAttribute;
import dev.verbena.values.QueuePairAttributes;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.RnrTimer;
import java.util.Set;

/**
 * The attributes of the state transition of a queue pair from RTR to RTS (ready to send).
 *
 * <p>RC, UC and UD queue pairs require the send PSN. For RC, the local ACK timeout defaults to 67
 * ms, the retry count to 6, the RNR retry count to 7 (unlimited), and the maximum number of RDMA
 * reads as the initiator to 1. Raw packet queue pairs require nothing.
 *
 * <p>See {@code ibv_modify_qp(3)}.
 */
public final class ToReadyToSend {
  private final QueuePair queuePair;
  private final QueuePairAttributes.Builder attributes = QueuePairAttributes.builder();

  ToReadyToSend(QueuePair queuePair) {
    this.queuePair = queuePair;
    if (queuePair.needs(QueuePairState.RTR, QueuePairState.RTS, QueuePairAttribute.TIMEOUT)) {
      attributes.ackTimeout(AckTimeout.DEFAULT);
    }
    if (queuePair.needs(QueuePairState.RTR, QueuePairState.RTS, QueuePairAttribute.RETRY_CNT)) {
      attributes
          .retryCount(QueuePairSetup.RETRY_COUNT)
          .rnrRetryCount(QueuePairSetup.RNR_RETRY_COUNT)
          .readsAsInitiator(1);
    }
  }

  /**
   * Sets the packet sequence number of the first packet to be sent: {@code sq_psn}.
   *
   * @param psn 24 bits, preferably random
   * @return this
   */
  public ToReadyToSend sendPsn(int psn) {
    attributes.sendPsn(psn);
    return this;
  }

  /**
   * Sets the local ACK timeout, after which a packet is retransmitted: {@code timeout}.
   *
   * @param timeout the timeout
   * @return this
   */
  public ToReadyToSend ackTimeout(AckTimeout timeout) {
    attributes.ackTimeout(timeout);
    return this;
  }

  /**
   * Sets the retry count: how often a packet is retransmitted before the queue pair fails with
   * {@link CompletionStatus#RETRY_EXC_ERR} ({@code retry_cnt}). Soft-RoCE treats 7 as unlimited,
   * contrary to the specification.
   *
   * @param count 0 to 7
   * @return this
   */
  public ToReadyToSend retryCount(int count) {
    attributes.retryCount(count);
    return this;
  }

  /**
   * Sets the RNR retry count: how often a message is retransmitted for which the remote side had no
   * receive request posted ({@code rnr_retry}).
   *
   * @param count 0 to 6, or 7 for unlimited
   * @return this
   */
  public ToReadyToSend rnrRetryCount(int count) {
    attributes.rnrRetryCount(count);
    return this;
  }

  /**
   * Sets the maximum number of outstanding RDMA reads and atomics as the initiator: {@code
   * max_rd_atomic}.
   *
   * @param reads at most the number that the remote queue pair accepts as the target
   * @return this
   */
  public ToReadyToSend readsAsInitiator(int reads) {
    attributes.readsAsInitiator(reads);
    return this;
  }

  /**
   * Sets the minimum RNR NAK timer, which the remote side observes before it retransmits a message
   * for which no receive request was posted: {@code min_rnr_timer}.
   *
   * @param timer the timer
   * @return this
   */
  public ToReadyToSend minRnrTimer(RnrTimer timer) {
    attributes.minRnrTimer(timer);
    return this;
  }

  /**
   * Sets the alternate path, to which the connection migrates when the primary path fails: {@code
   * alt_ah_attr} and others.
   *
   * @param alternate another path to the remote queue pair
   * @return this
   */
  public ToReadyToSend alternatePath(AlternatePath alternate) {
    attributes.alternatePath(alternate);
    return this;
  }

  /**
   * Sets the path migration state: {@code path_mig_state}.
   *
   * @param state REARM to arm the alternate path, MIGRATED to migrate to it
   * @return this
   */
  public ToReadyToSend migrationState(MigrationState state) {
    attributes.migrationState(state);
    return this;
  }

  /**
   * Sets the remote operations that the queue pair allows: {@code qp_access_flags}. The memory
   * region must allow them, too.
   *
   * @param access REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, or the flush flags; or none
   * @return this
   */
  public ToReadyToSend access(Set<AccessFlag> access) {
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
  public ToReadyToSend access(AccessFlag... access) {
    attributes.access(access);
    return this;
  }

  /**
   * Sets the Q_Key that datagrams must carry to be received: {@code qkey}.
   *
   * @param value the Q_Key; one with the most significant bit set needs privileges
   * @return this
   */
  public ToReadyToSend queueKey(int value) {
    attributes.queueKey(value);
    return this;
  }

  /**
   * Sets the rate limit for packet pacing: {@code rate_limit}.
   *
   * @param kilobits the rate in kbit/s; 0 for no limit
   * @return this
   */
  public ToReadyToSend rateLimit(long kilobits) {
    attributes.rateLimit(kilobits);
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
    queuePair.transition(QueuePairState.RTR, attributes.state(QueuePairState.RTS).build());
  }
}
