package dev.verbena.verbs;

import dev.verbena.address.AddressVector;
import dev.verbena.address.Mtu;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.AlternatePath;
import dev.verbena.values.QueuePairAttribute;
import dev.verbena.values.QueuePairAttributes;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.RnrTimer;
import java.util.Set;

/**
 * The attributes of the state transition of a queue pair from INIT to RTR (ready to receive).
 *
 * <p>RC and UC queue pairs require the path, the path MTU, the destination QPN and the receive PSN.
 * For RC, the maximum number of RDMA reads as the target defaults to 1 and the minimum RNR NAK
 * timer to 0.64 ms. UD and raw packet queue pairs require nothing.
 *
 * {@snippet :
 * queuePair.toReadyToReceive()
 *     .path(path)
 *     .pathMtu(Mtu.MTU_1024)
 *     .destination(remoteNumber)
 *     .receivePsn(remotePsn)
 *     .apply();
 * }
 *
 * <p>See {@code ibv_modify_qp(3)}.
 */
public final class ToReadyToReceive {
  private final QueuePair queuePair;
  private final QueuePairAttributes.Builder attributes = QueuePairAttributes.builder();

  ToReadyToReceive(QueuePair queuePair) {
    this.queuePair = queuePair;
    if (queuePair.needs(
        QueuePairState.INIT, QueuePairState.RTR, QueuePairAttribute.MIN_RNR_TIMER)) {
      attributes.minRnrTimer(RnrTimer.DEFAULT);
    }
    if (queuePair.needs(
        QueuePairState.INIT, QueuePairState.RTR, QueuePairAttribute.MAX_DEST_RD_ATOMIC)) {
      attributes.readsAsTarget(1);
    }
  }

  /**
   * Sets the primary path to the remote queue pair: {@code ah_attr}.
   *
   * @param path the address vector
   * @return this
   */
  public ToReadyToReceive path(AddressVector path) {
    attributes.path(path);
    return this;
  }

  /**
   * Sets the path MTU: {@code path_mtu}.
   *
   * @param mtu at most the active MTU of either port
   * @return this
   */
  public ToReadyToReceive pathMtu(Mtu mtu) {
    attributes.pathMtu(mtu);
    return this;
  }

  /**
   * Sets the queue pair number of the remote queue pair: {@code dest_qp_num}.
   *
   * @param number the QPN
   * @return this
   */
  public ToReadyToReceive destination(int number) {
    attributes.destination(number);
    return this;
  }

  /**
   * Sets the packet sequence number of the first packet to be received: {@code rq_psn}.
   *
   * @param psn the initial send PSN of the remote queue pair
   * @return this
   */
  public ToReadyToReceive receivePsn(int psn) {
    attributes.receivePsn(psn);
    return this;
  }

  /**
   * Sets the maximum number of outstanding RDMA reads and atomics as the target: {@code
   * max_dest_rd_atomic}.
   *
   * @param reads at least the number that the remote queue pair initiates
   * @return this
   */
  public ToReadyToReceive readsAsTarget(int reads) {
    attributes.readsAsTarget(reads);
    return this;
  }

  /**
   * Sets the minimum RNR NAK timer, which the remote side observes before it retransmits a message
   * for which no receive request was posted: {@code min_rnr_timer}.
   *
   * @param timer the timer
   * @return this
   */
  public ToReadyToReceive minRnrTimer(RnrTimer timer) {
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
  public ToReadyToReceive alternatePath(AlternatePath alternate) {
    attributes.alternatePath(alternate);
    return this;
  }

  /**
   * Sets the remote operations that the queue pair allows: {@code qp_access_flags}. The memory
   * region must allow them, too.
   *
   * @param access REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, or the flush flags; or none
   * @return this
   */
  public ToReadyToReceive access(Set<AccessFlag> access) {
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
  public ToReadyToReceive access(AccessFlag... access) {
    attributes.access(access);
    return this;
  }

  /**
   * Sets the partition: {@code pkey_index}.
   *
   * @param index an index of the P_Key table of the port, usually 0
   * @return this
   */
  public ToReadyToReceive pkeyIndex(int index) {
    attributes.pkeyIndex(index);
    return this;
  }

  /**
   * Sets the Q_Key that datagrams must carry to be received: {@code qkey}.
   *
   * @param value the Q_Key; one with the most significant bit set needs privileges
   * @return this
   */
  public ToReadyToReceive queueKey(int value) {
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
    queuePair.transition(QueuePairState.INIT, attributes.state(QueuePairState.RTR).build());
  }
}
