package dev.verbena.values;

import dev.verbena.FlagSet;
import dev.verbena.NativeFlag;
import dev.verbena.address.AddressVector;
import dev.verbena.address.Mtu;
import dev.verbena.internal.Codes;
import dev.verbena.internal.Ranges;
import dev.verbena.internal.foreign.Segments;
import dev.verbena.raw.ibv_qp_attr;
import dev.verbena.verbs.QueuePair;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * Attributes of a queue pair: {@code struct ibv_qp_attr} with its attribute mask.
 *
 * <p>A {@link Builder} collects the attributes for {@link QueuePair#modify}; {@link
 * QueuePair#query} returns those of a queue pair. The manual page of {@code ibv_modify_qp(3)} lists
 * the attributes that each state transition requires and allows: a failed {@code modify} names what
 * is missing. {@link QueuePair#connect} and {@link QueuePair#activate} set all of them.
 */
public final class QueuePairAttributes {
  /** The default retry count, 6: Soft-RoCE treats 7 as unlimited. */
  public static final int RETRY_COUNT = 6;

  /** The default RNR retry count, 7: unlimited. */
  public static final int RNR_RETRY_COUNT = 7;

  private final MemorySegment struct;
  private final Set<QueuePairAttribute> mask;

  /** Takes a struct of an automatic arena, which is not written to any more: C reads it. */
  private QueuePairAttributes(MemorySegment struct, Set<QueuePairAttribute> mask) {
    this.struct = struct.asReadOnly();
    this.mask = Collections.unmodifiableSet(new TreeSet<>(mask));
  }

  /**
   * Copies attributes from a C struct, such as one that librdmacm filled.
   *
   * @param struct a {@code struct ibv_qp_attr}
   * @param mask the attribute mask, {@code enum ibv_qp_attr_mask}
   * @return the attributes
   */
  public static QueuePairAttributes copyOf(MemorySegment struct, int mask) {
    Segments.readable(struct, ibv_qp_attr.layout());
    MemorySegment copy = ibv_qp_attr.allocate(Arena.ofAuto());
    copy.copyFrom(struct.asSlice(0, ibv_qp_attr.sizeof()));
    return new QueuePairAttributes(copy, FlagSet.of(QueuePairAttribute.class, mask));
  }

  /** {@return a builder without attributes} */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * {@return a builder of the transition from RESET to INIT, of partition 0} RC and UC queue pairs
   * require the port and the access flags, UD the port and the Q_Key, raw packet ones the port.
   *
   * @param type the type of the queue pair
   */
  public static Builder toInit(QueuePairType type) {
    Builder builder = builder().state(QueuePairState.INIT);
    boolean hasNone = type == QueuePairType.RAW_PACKET || type == QueuePairType.DRIVER;
    return hasNone ? builder : builder.pkeyIndex(0);
  }

  /**
   * {@return a builder of the transition from INIT to RTR (ready to receive)} RC and UC queue pairs
   * require the path, the path MTU, the destination QPN and the receive PSN. For RC, the maximum
   * number of RDMA reads as the target is 1, and the minimum RNR NAK timer 0.64 ms.
   *
   * @param type the type of the queue pair
   */
  public static Builder toReadyToReceive(QueuePairType type) {
    Builder builder = builder().state(QueuePairState.RTR);
    return switch (type) {
      case RC, XRC_RECV -> builder.readsAsTarget(1).minRnrTimer(RnrTimer.DEFAULT);
      case DC_TARGET -> builder.minRnrTimer(RnrTimer.DEFAULT);
      default -> builder;
    };
  }

  /**
   * {@return a builder of the transition from RTR to RTS (ready to send)} RC, UC and UD queue pairs
   * require the send PSN. For RC, the local ACK timeout is 67 ms, both retry counts have their
   * defaults, and the maximum number of RDMA reads as the initiator is 1.
   *
   * @param type the type of the queue pair
   */
  public static Builder toReadyToSend(QueuePairType type) {
    Builder builder = builder().state(QueuePairState.RTS);
    return switch (type) {
      case RC, XRC_SEND, DC_INITIATOR ->
          builder
              .ackTimeout(AckTimeout.DEFAULT)
              .retryCount(RETRY_COUNT)
              .rnrRetryCount(RNR_RETRY_COUNT)
              .readsAsInitiator(1);
      case XRC_RECV -> builder.ackTimeout(AckTimeout.DEFAULT);
      default -> builder;
    };
  }

  /** A builder of queue pair attributes: each setter also sets the bit in the mask. */
  public static final class Builder {
    private final MemorySegment struct = ibv_qp_attr.allocate(Arena.ofAuto());
    private final EnumSet<QueuePairAttribute> mask = EnumSet.noneOf(QueuePairAttribute.class);

    private Builder() {}

    private Builder with(QueuePairAttribute attribute) {
      mask.add(attribute);
      return this;
    }

    /**
     * Sets the state to transition to: {@code qp_state}.
     *
     * @param state the new state
     * @return this
     */
    public Builder state(QueuePairState state) {
      ibv_qp_attr.qp_state(struct, state.code());
      return with(QueuePairAttribute.STATE);
    }

    /**
     * Sets the state that the queue pair is assumed to be in, for transitions from RTR, RTS, SQD
     * and SQE: {@code cur_qp_state}.
     *
     * @param state RTR, RTS, SQD or SQE
     * @return this
     */
    public Builder currentState(QueuePairState state) {
      ibv_qp_attr.cur_qp_state(struct, state.code());
      return with(QueuePairAttribute.CUR_STATE);
    }

    /**
     * Sets whether the asynchronous event {@link AsyncEventType#SQ_DRAINED} is generated when the
     * send queue is drained: {@code en_sqd_async_notify}.
     *
     * @param notify true to generate the event
     * @return this
     */
    public Builder notifyDrained(boolean notify) {
      ibv_qp_attr.en_sqd_async_notify(struct, (byte) (notify ? 1 : 0));
      return with(QueuePairAttribute.EN_SQD_ASYNC_NOTIFY);
    }

    /**
     * Sets the remote operations that the queue pair allows: {@code qp_access_flags}. The memory
     * region must allow them, too.
     *
     * @param access REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, or the flush flags; or none
     * @return this
     */
    public Builder access(Set<AccessFlag> access) {
      ibv_qp_attr.qp_access_flags(struct, (int) NativeFlag.mask(access));
      return with(QueuePairAttribute.ACCESS_FLAGS);
    }

    /**
     * Sets the remote operations that the queue pair allows: {@code qp_access_flags}. The memory
     * region must allow them, too.
     *
     * @param access REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, or the flush flags; or none
     * @return this
     */
    public Builder access(AccessFlag... access) {
      return access(Set.of(access));
    }

    /**
     * Sets the partition: {@code pkey_index}.
     *
     * @param index an index of the P_Key table of the port, usually 0
     * @return this
     */
    public Builder pkeyIndex(int index) {
      ibv_qp_attr.pkey_index(struct, (short) Ranges.bits(index, Short.SIZE, "a P_Key index"));
      return with(QueuePairAttribute.PKEY_INDEX);
    }

    /**
     * Sets the local port: {@code port_num}.
     *
     * @param port the port number, 1 for the first port
     * @return this
     */
    public Builder port(int port) {
      ibv_qp_attr.port_num(struct, (byte) Ranges.port(port));
      return with(QueuePairAttribute.PORT);
    }

    /**
     * Sets the Q_Key that datagrams must carry to be received: {@code qkey}.
     *
     * @param value the Q_Key; one with the most significant bit set needs privileges
     * @return this
     */
    public Builder queueKey(int value) {
      ibv_qp_attr.qkey(struct, value);
      return with(QueuePairAttribute.QKEY);
    }

    /**
     * Sets the primary path to the remote queue pair: {@code ah_attr}.
     *
     * @param path the address vector
     * @return this
     */
    public Builder path(AddressVector path) {
      path.writeTo(ibv_qp_attr.ah_attr(struct));
      return with(QueuePairAttribute.AV);
    }

    /**
     * Sets the path MTU: {@code path_mtu}.
     *
     * @param mtu at most the active MTU of either port
     * @return this
     */
    public Builder pathMtu(Mtu mtu) {
      ibv_qp_attr.path_mtu(struct, mtu.code());
      return with(QueuePairAttribute.PATH_MTU);
    }

    /**
     * Sets the local ACK timeout, after which a packet is retransmitted: {@code timeout}.
     *
     * @param timeout the timeout
     * @return this
     */
    public Builder ackTimeout(AckTimeout timeout) {
      ibv_qp_attr.timeout(struct, (byte) timeout.code());
      return with(QueuePairAttribute.TIMEOUT);
    }

    /**
     * Sets the retry count: how often a packet is retransmitted before the queue pair fails with
     * {@link CompletionStatus#RETRY_EXC_ERR} ({@code retry_cnt}). Soft-RoCE treats 7 as unlimited,
     * contrary to the specification.
     *
     * @param count 0 to 7
     * @return this
     */
    public Builder retryCount(int count) {
      ibv_qp_attr.retry_cnt(struct, (byte) Ranges.bits(count, 3, "a retry count"));
      return with(QueuePairAttribute.RETRY_CNT);
    }

    /**
     * Sets the RNR retry count: how often a message is retransmitted for which the remote side had
     * no receive request posted ({@code rnr_retry}).
     *
     * @param count 0 to 6, or 7 for unlimited
     * @return this
     */
    public Builder rnrRetryCount(int count) {
      ibv_qp_attr.rnr_retry(struct, (byte) Ranges.bits(count, 3, "an RNR retry count"));
      return with(QueuePairAttribute.RNR_RETRY);
    }

    /**
     * Sets the packet sequence number of the first packet to be received: {@code rq_psn}.
     *
     * @param psn the initial send PSN of the remote queue pair
     * @return this
     */
    public Builder receivePsn(int psn) {
      ibv_qp_attr.rq_psn(struct, Ranges.bits(psn, 24, "a PSN"));
      return with(QueuePairAttribute.RQ_PSN);
    }

    /**
     * Sets the maximum number of outstanding RDMA reads and atomics as the initiator: {@code
     * max_rd_atomic}.
     *
     * @param reads at most the number that the remote queue pair accepts as the target
     * @return this
     */
    public Builder readsAsInitiator(int reads) {
      ibv_qp_attr.max_rd_atomic(struct, (byte) Ranges.bits(reads, Byte.SIZE, "a number of reads"));
      return with(QueuePairAttribute.MAX_QP_RD_ATOMIC);
    }

    /**
     * Sets the alternate path, to which the connection migrates when the primary path fails: {@code
     * alt_ah_attr} and others.
     *
     * @param alternate another path to the remote queue pair
     * @return this
     */
    public Builder alternatePath(AlternatePath alternate) {
      alternate.writeTo(struct);
      return with(QueuePairAttribute.ALT_PATH);
    }

    /**
     * Sets the minimum RNR NAK timer, which the remote side observes before it retransmits a
     * message for which no receive request was posted: {@code min_rnr_timer}.
     *
     * @param timer the timer
     * @return this
     */
    public Builder minRnrTimer(RnrTimer timer) {
      ibv_qp_attr.min_rnr_timer(struct, (byte) timer.code());
      return with(QueuePairAttribute.MIN_RNR_TIMER);
    }

    /**
     * Sets the packet sequence number of the first packet to be sent: {@code sq_psn}.
     *
     * @param psn 24 bits, preferably random
     * @return this
     */
    public Builder sendPsn(int psn) {
      ibv_qp_attr.sq_psn(struct, Ranges.bits(psn, 24, "a PSN"));
      return with(QueuePairAttribute.SQ_PSN);
    }

    /**
     * Sets the maximum number of outstanding RDMA reads and atomics as the target: {@code
     * max_dest_rd_atomic}.
     *
     * @param reads at least the number that the remote queue pair initiates
     * @return this
     */
    public Builder readsAsTarget(int reads) {
      ibv_qp_attr.max_dest_rd_atomic(
          struct, (byte) Ranges.bits(reads, Byte.SIZE, "a number of reads"));
      return with(QueuePairAttribute.MAX_DEST_RD_ATOMIC);
    }

    /**
     * Sets the path migration state: {@code path_mig_state}.
     *
     * @param state REARM to arm the alternate path, MIGRATED to migrate to it
     * @return this
     */
    public Builder migrationState(MigrationState state) {
      ibv_qp_attr.path_mig_state(struct, state.code());
      return with(QueuePairAttribute.PATH_MIG_STATE);
    }

    /**
     * Sets the capacity of the queues, on devices with {@code IBV_DEVICE_RESIZE_MAX_WR}: {@code
     * cap}.
     *
     * @param capacity the required capacity
     * @return this
     */
    public Builder capacity(QueuePairCapacity capacity) {
      capacity.writeTo(ibv_qp_attr.cap(struct));
      return with(QueuePairAttribute.CAP);
    }

    /**
     * Sets the queue pair number of the remote queue pair: {@code dest_qp_num}.
     *
     * @param number the QPN
     * @return this
     */
    public Builder destination(int number) {
      ibv_qp_attr.dest_qp_num(struct, Ranges.bits(number, 24, "a QPN"));
      return with(QueuePairAttribute.DEST_QPN);
    }

    /**
     * Sets the rate limit for packet pacing: {@code rate_limit}.
     *
     * @param kilobits the rate in kbit/s; 0 for no limit
     * @return this
     */
    public Builder rateLimit(long kilobits) {
      if (kilobits >>> Integer.SIZE != 0) {
        throw new IllegalArgumentException(
            "rate limit must be 0 to 4294967295 kbit/s: " + kilobits);
      }
      ibv_qp_attr.rate_limit(struct, (int) kilobits);
      return with(QueuePairAttribute.RATE_LIMIT);
    }

    /**
     * Returns the attributes that were set.
     *
     * @return the attributes, a copy
     */
    public QueuePairAttributes build() {
      return only(mask);
    }

    /**
     * Returns the attributes that were set and are in a set; others are left out.
     *
     * @param wanted the attributes that are not left out
     * @return the attributes, a copy
     */
    public QueuePairAttributes only(Set<QueuePairAttribute> wanted) {
      EnumSet<QueuePairAttribute> both = EnumSet.copyOf(mask);
      both.retainAll(wanted);
      MemorySegment copy = ibv_qp_attr.allocate(Arena.ofAuto()).copyFrom(struct);
      return new QueuePairAttributes(copy, both);
    }
  }

  /**
   * Returns the attribute mask: {@code enum ibv_qp_attr_mask}.
   *
   * @return the attributes that were set or queried
   */
  public Set<QueuePairAttribute> mask() {
    return mask;
  }

  /**
   * Returns the C struct.
   *
   * @return a {@code struct ibv_qp_attr}, read-only
   */
  public MemorySegment segment() {
    return struct;
  }

  private MemorySegment with(QueuePairAttribute attribute) {
    if (!mask.contains(attribute)) {
      throw new IllegalStateException(attribute + " is not in the attribute mask: " + mask);
    }
    return struct;
  }

  /**
   * Returns the state: {@code qp_state}.
   *
   * @return the current state, or the one to transition to
   * @throws IllegalStateException if {@code STATE} is not in the {@linkplain #mask mask}
   */
  public QueuePairState state() {
    return Codes.of(
        QueuePairState.class,
        ibv_qp_attr.qp_state(with(QueuePairAttribute.STATE)),
        QueuePairState.UNKNOWN);
  }

  /**
   * {@return the state that the queue pair is assumed to be in: {@code cur_qp_state}}
   *
   * @throws IllegalStateException if {@code CUR_STATE} is not in the {@linkplain #mask mask}
   */
  public QueuePairState currentState() {
    return Codes.of(
        QueuePairState.class,
        ibv_qp_attr.cur_qp_state(with(QueuePairAttribute.CUR_STATE)),
        QueuePairState.UNKNOWN);
  }

  /**
   * Returns whether an asynchronous event is generated when the send queue is drained: {@code
   * en_sqd_async_notify}.
   *
   * @return true if the event is generated
   * @throws IllegalStateException if {@code EN_SQD_ASYNC_NOTIFY} is not in the {@linkplain #mask
   *     mask}
   */
  public boolean notifyDrained() {
    return ibv_qp_attr.en_sqd_async_notify(with(QueuePairAttribute.EN_SQD_ASYNC_NOTIFY)) != 0;
  }

  /**
   * Returns the remote operations that the queue pair allows: {@code qp_access_flags}.
   *
   * @return the access flags
   * @throws IllegalStateException if {@code ACCESS_FLAGS} is not in the {@linkplain #mask mask}
   */
  public FlagSet<AccessFlag> access() {
    return FlagSet.of(
        AccessFlag.class,
        Integer.toUnsignedLong(ibv_qp_attr.qp_access_flags(with(QueuePairAttribute.ACCESS_FLAGS))));
  }

  /**
   * Returns the partition: {@code pkey_index}.
   *
   * @return an index of the P_Key table of the port
   * @throws IllegalStateException if {@code PKEY_INDEX} is not in the {@linkplain #mask mask}
   */
  public int pkeyIndex() {
    return Short.toUnsignedInt(ibv_qp_attr.pkey_index(with(QueuePairAttribute.PKEY_INDEX)));
  }

  /**
   * Returns the local port: {@code port_num}.
   *
   * @return the port number; 0 before state INIT
   * @throws IllegalStateException if {@code PORT} is not in the {@linkplain #mask mask}
   */
  public int port() {
    return Byte.toUnsignedInt(ibv_qp_attr.port_num(with(QueuePairAttribute.PORT)));
  }

  /**
   * {@return the Q_Key that datagrams must carry to be received: {@code qkey}}
   *
   * @throws IllegalStateException if {@code QKEY} is not in the {@linkplain #mask mask}
   */
  public int queueKey() {
    return ibv_qp_attr.qkey(with(QueuePairAttribute.QKEY));
  }

  /**
   * Returns the primary path to the remote queue pair: {@code ah_attr}.
   *
   * @return the address vector, or empty before state RTR
   * @throws IllegalStateException if {@code AV} is not in the {@linkplain #mask mask}
   */
  public Optional<AddressVector> path() {
    return AddressVector.readFrom(ibv_qp_attr.ah_attr(with(QueuePairAttribute.AV)));
  }

  /**
   * {@return the path MTU: {@code path_mtu}}
   *
   * @throws IllegalStateException if {@code PATH_MTU} is not in the {@linkplain #mask mask}
   */
  public Mtu pathMtu() {
    return Mtu.of(ibv_qp_attr.path_mtu(with(QueuePairAttribute.PATH_MTU)));
  }

  /**
   * {@return the local ACK timeout: {@code timeout}}
   *
   * @throws IllegalStateException if {@code TIMEOUT} is not in the {@linkplain #mask mask}
   */
  public AckTimeout ackTimeout() {
    return AckTimeout.ofCode(ibv_qp_attr.timeout(with(QueuePairAttribute.TIMEOUT)) & 0x1f);
  }

  /**
   * Returns the retry count: {@code retry_cnt}.
   *
   * @return 0 to 7
   * @throws IllegalStateException if {@code RETRY_CNT} is not in the {@linkplain #mask mask}
   */
  public int retryCount() {
    return Byte.toUnsignedInt(ibv_qp_attr.retry_cnt(with(QueuePairAttribute.RETRY_CNT)));
  }

  /**
   * Returns the RNR retry count: {@code rnr_retry}.
   *
   * @return 0 to 6, or 7 for unlimited
   * @throws IllegalStateException if {@code RNR_RETRY} is not in the {@linkplain #mask mask}
   */
  public int rnrRetryCount() {
    return Byte.toUnsignedInt(ibv_qp_attr.rnr_retry(with(QueuePairAttribute.RNR_RETRY)));
  }

  /**
   * Returns the packet sequence number of the first packet to be received: {@code rq_psn}.
   *
   * @return 24 bits
   * @throws IllegalStateException if {@code RQ_PSN} is not in the {@linkplain #mask mask}
   */
  public int receivePsn() {
    return ibv_qp_attr.rq_psn(with(QueuePairAttribute.RQ_PSN));
  }

  /**
   * Returns the maximum number of outstanding RDMA reads and atomics as the initiator: {@code
   * max_rd_atomic}.
   *
   * @return the number
   * @throws IllegalStateException if {@code MAX_QP_RD_ATOMIC} is not in the {@linkplain #mask mask}
   */
  public int readsAsInitiator() {
    return Byte.toUnsignedInt(ibv_qp_attr.max_rd_atomic(with(QueuePairAttribute.MAX_QP_RD_ATOMIC)));
  }

  /**
   * Returns the alternate path: {@code alt_ah_attr} and others.
   *
   * @return the path, or empty if there is none
   * @throws IllegalStateException if {@code ALT_PATH} is not in the {@linkplain #mask mask}
   */
  public Optional<AlternatePath> alternatePath() {
    return AlternatePath.readFrom(with(QueuePairAttribute.ALT_PATH));
  }

  /**
   * {@return the minimum RNR NAK timer: {@code min_rnr_timer}}
   *
   * @throws IllegalStateException if {@code MIN_RNR_TIMER} is not in the {@linkplain #mask mask}
   */
  public RnrTimer minRnrTimer() {
    return RnrTimer.ofCode(
        ibv_qp_attr.min_rnr_timer(with(QueuePairAttribute.MIN_RNR_TIMER)) & 0x1f);
  }

  /**
   * Returns the packet sequence number of the first packet to be sent: {@code sq_psn}.
   *
   * @return 24 bits
   * @throws IllegalStateException if {@code SQ_PSN} is not in the {@linkplain #mask mask}
   */
  public int sendPsn() {
    return ibv_qp_attr.sq_psn(with(QueuePairAttribute.SQ_PSN));
  }

  /**
   * Returns the maximum number of outstanding RDMA reads and atomics as the target: {@code
   * max_dest_rd_atomic}.
   *
   * @return the number
   * @throws IllegalStateException if {@code MAX_DEST_RD_ATOMIC} is not in the {@linkplain #mask
   *     mask}
   */
  public int readsAsTarget() {
    return Byte.toUnsignedInt(
        ibv_qp_attr.max_dest_rd_atomic(with(QueuePairAttribute.MAX_DEST_RD_ATOMIC)));
  }

  /**
   * {@return the path migration state: {@code path_mig_state}}
   *
   * @throws IllegalStateException if {@code PATH_MIG_STATE} is not in the {@linkplain #mask mask}
   */
  public MigrationState migrationState() {
    return Codes.of(
        MigrationState.class,
        ibv_qp_attr.path_mig_state(with(QueuePairAttribute.PATH_MIG_STATE)),
        MigrationState.MIGRATED);
  }

  /**
   * Returns the capacity of the queues: {@code cap}.
   *
   * @return the actual capacity
   * @throws IllegalStateException if {@code CAP} is not in the {@linkplain #mask mask}
   */
  public QueuePairCapacity capacity() {
    return QueuePairCapacity.readFrom(ibv_qp_attr.cap(with(QueuePairAttribute.CAP)));
  }

  /**
   * Returns the queue pair number of the remote queue pair: {@code dest_qp_num}.
   *
   * @return the QPN
   * @throws IllegalStateException if {@code DEST_QPN} is not in the {@linkplain #mask mask}
   */
  public int destination() {
    return ibv_qp_attr.dest_qp_num(with(QueuePairAttribute.DEST_QPN));
  }

  /**
   * Returns the rate limit: {@code rate_limit}.
   *
   * @return the rate in kbit/s
   * @throws IllegalStateException if {@code RATE_LIMIT} is not in the {@linkplain #mask mask}
   */
  public long rateLimit() {
    return Integer.toUnsignedLong(ibv_qp_attr.rate_limit(with(QueuePairAttribute.RATE_LIMIT)));
  }

  /**
   * Returns whether the send queue of a queried queue pair in state SQD is draining: {@code
   * sq_draining}.
   *
   * @return false once all send requests are completed
   * @throws IllegalStateException if {@code STATE} is not in the {@linkplain #mask mask}
   */
  public boolean isDraining() {
    return ibv_qp_attr.sq_draining(with(QueuePairAttribute.STATE)) != 0;
  }

  @Override
  public String toString() {
    return new QueuePairAttributesText(this).toString();
  }
}
