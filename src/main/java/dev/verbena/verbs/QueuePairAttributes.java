package dev.verbena.verbs;

import dev.verbena.raw.ibv_qp_attr;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;

/**
 * Attributes of a queue pair: {@code struct ibv_qp_attr} and the mask that says which of them are
 * meant.
 *
 * <p>Made with a {@link Builder} to change a queue pair, or {@linkplain QueuePair#query asked of
 * one}. Which attributes a change of state needs and takes, {@link StateTable} knows; {@link
 * QueuePair#connect} and {@link QueuePair#activate} give them all.
 */
public final class QueuePairAttributes {
  private final MemorySegment struct;
  private final Set<QueuePairAttribute> meant;

  /** Takes a struct that nobody writes to any more. */
  QueuePairAttributes(MemorySegment struct, Collection<QueuePairAttribute> meant) {
    this.struct = struct.asReadOnly();
    this.meant = Collections.unmodifiableSet(setOf(meant));
  }

  /**
   * Attributes that C code wrote, such as librdmacm's.
   *
   * @param struct a {@code struct ibv_qp_attr}, which is copied
   * @param mask which attributes are meant, as C has it
   * @return the attributes
   */
  public static QueuePairAttributes copyOf(MemorySegment struct, int mask) {
    MemorySegment copy = ibv_qp_attr.allocate(Arena.ofAuto());
    copy.copyFrom(struct);
    return new QueuePairAttributes(copy, Flags.of(QueuePairAttribute.class, mask));
  }

  private static EnumSet<QueuePairAttribute> setOf(Collection<QueuePairAttribute> attributes) {
    EnumSet<QueuePairAttribute> set = EnumSet.noneOf(QueuePairAttribute.class);
    set.addAll(attributes);
    return set;
  }

  /**
   * Begins a set of attributes, with none in it.
   *
   * @return a builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /** Collects attributes. */
  public static final class Builder {
    private final MemorySegment struct = ibv_qp_attr.allocate(Arena.ofAuto());
    private final EnumSet<QueuePairAttribute> meant = EnumSet.noneOf(QueuePairAttribute.class);

    private Builder() {}

    private Builder with(QueuePairAttribute attribute) {
      meant.add(attribute);
      return this;
    }

    /**
     * The state of the queue pair.
     *
     * @param state where to go
     * @return this
     */
    public Builder state(QueuePairState state) {
      ibv_qp_attr.qp_state(struct, state.code());
      return with(QueuePairAttribute.STATE);
    }

    /**
     * The state that the queue pair is assumed to be in, for moves from RTR, RTS, SQD and SQE.
     *
     * @param state RTR, RTS, SQD or SQE
     * @return this
     */
    public Builder currentState(QueuePairState state) {
      ibv_qp_attr.cur_qp_state(struct, state.code());
      return with(QueuePairAttribute.CUR_STATE);
    }

    /**
     * Whether an event tells when the send queue is drained.
     *
     * @param notify true to get the event
     * @return this
     */
    public Builder notifyDrained(boolean notify) {
      ibv_qp_attr.en_sqd_async_notify(struct, (byte) (notify ? 1 : 0));
      return with(QueuePairAttribute.EN_SQD_ASYNC_NOTIFY);
    }

    /**
     * What the peer may do, where memory regions allow it as well.
     *
     * @param access REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, or the flushes
     * @return this
     */
    public Builder access(Set<AccessFlag> access) {
      ibv_qp_attr.qp_access_flags(struct, (int) Flags.mask(access));
      return with(QueuePairAttribute.ACCESS_FLAGS);
    }

    /**
     * What the peer may do, where memory regions allow it as well.
     *
     * @param access REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, or the flushes
     * @return this
     */
    public Builder access(AccessFlag... access) {
      return access(Set.of(access));
    }

    /**
     * The partition.
     *
     * @param index a place in the port's table, normally 0
     * @return this
     */
    public Builder pkeyIndex(int index) {
      ibv_qp_attr.pkey_index(struct, (short) Ranges.bits(index, Short.SIZE, "a P_Key index"));
      return with(QueuePairAttribute.PKEY_INDEX);
    }

    /**
     * The port.
     *
     * @param port 1 for the first one
     * @return this
     */
    public Builder port(int port) {
      ibv_qp_attr.port_num(struct, (byte) Ranges.port(port));
      return with(QueuePairAttribute.PORT);
    }

    /**
     * The key that datagrams must carry to be received.
     *
     * @param key keys with the upper bit set need privileges
     * @return this
     */
    public Builder queueKey(int key) {
      ibv_qp_attr.qkey(struct, key);
      return with(QueuePairAttribute.QKEY);
    }

    /**
     * The path to the peer.
     *
     * @param path where the peer is
     * @return this
     */
    public Builder path(AddressVector path) {
      path.writeTo(ibv_qp_attr.ah_attr(struct));
      return with(QueuePairAttribute.AV);
    }

    /**
     * The largest packet of the path.
     *
     * @param mtu no more than the active MTU of either port
     * @return this
     */
    public Builder pathMtu(Mtu mtu) {
      ibv_qp_attr.path_mtu(struct, mtu.code());
      return with(QueuePairAttribute.PATH_MTU);
    }

    /**
     * How long to wait for an acknowledgement.
     *
     * @param timeout n, for 4.096 microseconds times 2 to the power of n; 0 for ever, 14 is usual
     * @return this
     */
    public Builder timeout(int timeout) {
      ibv_qp_attr.timeout(struct, (byte) Ranges.bits(timeout, 5, "a timeout"));
      return with(QueuePairAttribute.TIMEOUT);
    }

    /**
     * How often to send again what is not acknowledged.
     *
     * @param count 0 to 7, 7 is usual
     * @return this
     */
    public Builder retryCount(int count) {
      ibv_qp_attr.retry_cnt(struct, (byte) Ranges.bits(count, 3, "a retry count"));
      return with(QueuePairAttribute.RETRY_CNT);
    }

    /**
     * How often to send again what the peer had no receive for.
     *
     * @param count 0 to 6, or 7 for ever
     * @return this
     */
    public Builder rnrRetry(int count) {
      ibv_qp_attr.rnr_retry(struct, (byte) Ranges.bits(count, 3, "an RNR retry count"));
      return with(QueuePairAttribute.RNR_RETRY);
    }

    /**
     * The number of the first packet that is received.
     *
     * @param psn the peer's send PSN
     * @return this
     */
    public Builder receivePsn(int psn) {
      ibv_qp_attr.rq_psn(struct, Ranges.bits(psn, 24, "a PSN"));
      return with(QueuePairAttribute.RQ_PSN);
    }

    /**
     * How many RDMA reads and atomics may be under way.
     *
     * @param reads no more than the peer serves
     * @return this
     */
    public Builder readsAsInitiator(int reads) {
      ibv_qp_attr.max_rd_atomic(struct, (byte) Ranges.bits(reads, Byte.SIZE, "a number of reads"));
      return with(QueuePairAttribute.MAX_QP_RD_ATOMIC);
    }

    /**
     * The path to change to when the first one fails.
     *
     * @param alternate another path to the peer
     * @return this
     */
    public Builder alternatePath(AlternatePath alternate) {
      alternate.path().writeTo(ibv_qp_attr.alt_ah_attr(struct));
      ibv_qp_attr.alt_port_num(struct, (byte) alternate.path().port());
      ibv_qp_attr.alt_pkey_index(struct, (short) alternate.pkeyIndex());
      ibv_qp_attr.alt_timeout(struct, (byte) alternate.timeout());
      return with(QueuePairAttribute.ALT_PATH);
    }

    /**
     * How long the peer waits when there is no receive for what it sent, in InfiniBand's code.
     *
     * @param timer 1 for 0.01 ms, 12 for 0.64 ms, 31 for 491 ms, 0 for 655 ms
     * @return this
     */
    public Builder minRnrTimer(int timer) {
      ibv_qp_attr.min_rnr_timer(struct, (byte) Ranges.bits(timer, 5, "an RNR timer"));
      return with(QueuePairAttribute.MIN_RNR_TIMER);
    }

    /**
     * The number of the first packet that is sent.
     *
     * @param psn 24 bits, best at random
     * @return this
     */
    public Builder sendPsn(int psn) {
      ibv_qp_attr.sq_psn(struct, Ranges.bits(psn, 24, "a PSN"));
      return with(QueuePairAttribute.SQ_PSN);
    }

    /**
     * How many RDMA reads and atomics of the peer are served at a time.
     *
     * @param reads no less than the peer has under way
     * @return this
     */
    public Builder readsAsTarget(int reads) {
      ibv_qp_attr.max_dest_rd_atomic(
          struct, (byte) Ranges.bits(reads, Byte.SIZE, "a number of reads"));
      return with(QueuePairAttribute.MAX_DEST_RD_ATOMIC);
    }

    /**
     * What to do with the alternate path.
     *
     * @param state REARM to load it, MIGRATED to take it
     * @return this
     */
    public Builder migrationState(MigrationState state) {
      ibv_qp_attr.path_mig_state(struct, state.code());
      return with(QueuePairAttribute.PATH_MIG_STATE);
    }

    /**
     * How much the queues hold; few devices can change it.
     *
     * @param capacity what is asked for
     * @return this
     */
    public Builder capacity(QueuePairCapacity capacity) {
      capacity.writeTo(ibv_qp_attr.cap(struct));
      return with(QueuePairAttribute.CAP);
    }

    /**
     * The peer's queue pair.
     *
     * @param number its number
     * @return this
     */
    public Builder destination(int number) {
      ibv_qp_attr.dest_qp_num(struct, Ranges.bits(number, 24, "a QPN"));
      return with(QueuePairAttribute.DEST_QPN);
    }

    /**
     * How fast to send.
     *
     * @param kilobits kbit/s; 0 for no limit
     * @return this
     */
    public Builder rateLimit(long kilobits) {
      ibv_qp_attr.rate_limit(struct, rate(kilobits));
      return with(QueuePairAttribute.RATE_LIMIT);
    }

    private static int rate(long kilobits) {
      if (kilobits < 0 || kilobits >>> Integer.SIZE != 0) {
        throw new IllegalArgumentException("a rate limit of " + kilobits + " kbit/s");
      }
      return (int) kilobits;
    }

    /**
     * The attributes that were set.
     *
     * @return attributes that later changes of this builder do not touch
     */
    public QueuePairAttributes build() {
      return only(meant);
    }

    /** Some of the attributes that were set. */
    QueuePairAttributes only(Set<QueuePairAttribute> wanted) {
      EnumSet<QueuePairAttribute> both = EnumSet.copyOf(meant);
      both.retainAll(wanted);
      MemorySegment copy = ibv_qp_attr.allocate(Arena.ofAuto()).copyFrom(struct);
      return new QueuePairAttributes(copy, both);
    }
  }

  /**
   * Which attributes these are.
   *
   * @return those that were set, or asked for
   */
  public Set<QueuePairAttribute> mask() {
    return meant;
  }

  int maskBits() {
    return (int) Flags.mask(meant);
  }

  long address() {
    return struct.address();
  }

  private MemorySegment with(QueuePairAttribute attribute) {
    if (!meant.contains(attribute)) {
      throw new IllegalStateException(attribute + " is not among these attributes: " + meant);
    }
    return struct;
  }

  /**
   * The state of the queue pair.
   *
   * @return where it is, or is to go
   * @throws IllegalStateException if {@code STATE} is not {@linkplain #meant meant}
   */
  public QueuePairState state() {
    return Codes.of(
        QueuePairState.class,
        ibv_qp_attr.qp_state(with(QueuePairAttribute.STATE)),
        QueuePairState.UNKNOWN);
  }

  /**
   * The state that the queue pair is assumed to be in, for moves from RTR, RTS, SQD and SQE.
   *
   * @return the assumed state
   * @throws IllegalStateException if {@code CUR_STATE} is not {@linkplain #meant meant}
   */
  public QueuePairState currentState() {
    return Codes.of(
        QueuePairState.class,
        ibv_qp_attr.cur_qp_state(with(QueuePairAttribute.CUR_STATE)),
        QueuePairState.UNKNOWN);
  }

  /**
   * Whether an event tells when the send queue is drained.
   *
   * @return true if there is an event
   * @throws IllegalStateException if {@code EN_SQD_ASYNC_NOTIFY} is not {@linkplain #meant meant}
   */
  public boolean notifyDrained() {
    return ibv_qp_attr.en_sqd_async_notify(with(QueuePairAttribute.EN_SQD_ASYNC_NOTIFY)) != 0;
  }

  /**
   * What the peer may do, where memory regions allow it as well.
   *
   * @return the flags
   * @throws IllegalStateException if {@code ACCESS_FLAGS} is not {@linkplain #meant meant}
   */
  public Set<AccessFlag> access() {
    return Flags.of(
        AccessFlag.class,
        Integer.toUnsignedLong(ibv_qp_attr.qp_access_flags(with(QueuePairAttribute.ACCESS_FLAGS))));
  }

  /**
   * The partition.
   *
   * @return its place in the port's table
   * @throws IllegalStateException if {@code PKEY_INDEX} is not {@linkplain #meant meant}
   */
  public int pkeyIndex() {
    return Short.toUnsignedInt(ibv_qp_attr.pkey_index(with(QueuePairAttribute.PKEY_INDEX)));
  }

  /**
   * The port.
   *
   * @return its number; 0 before state INIT
   * @throws IllegalStateException if {@code PORT} is not {@linkplain #meant meant}
   */
  public int port() {
    return Byte.toUnsignedInt(ibv_qp_attr.port_num(with(QueuePairAttribute.PORT)));
  }

  /**
   * The key that datagrams must carry to be received.
   *
   * @return the Q_Key
   * @throws IllegalStateException if {@code QKEY} is not {@linkplain #meant meant}
   */
  public int queueKey() {
    return ibv_qp_attr.qkey(with(QueuePairAttribute.QKEY));
  }

  /**
   * The path to the peer.
   *
   * @return where the peer is, or empty before state RTR
   * @throws IllegalStateException if {@code AV} is not {@linkplain #meant meant}
   */
  public Optional<AddressVector> path() {
    return AddressVector.readFrom(ibv_qp_attr.ah_attr(with(QueuePairAttribute.AV)));
  }

  /**
   * The largest packet of the path.
   *
   * @return the MTU
   * @throws IllegalStateException if {@code PATH_MTU} is not {@linkplain #meant meant}
   */
  public Mtu pathMtu() {
    return Mtu.of(ibv_qp_attr.path_mtu(with(QueuePairAttribute.PATH_MTU)));
  }

  /**
   * How long to wait for an acknowledgement.
   *
   * @return n, as the setter has it
   * @throws IllegalStateException if {@code TIMEOUT} is not {@linkplain #meant meant}
   */
  public int timeout() {
    return Byte.toUnsignedInt(ibv_qp_attr.timeout(with(QueuePairAttribute.TIMEOUT)));
  }

  /**
   * How often to send again what is not acknowledged.
   *
   * @return the count
   * @throws IllegalStateException if {@code RETRY_CNT} is not {@linkplain #meant meant}
   */
  public int retryCount() {
    return Byte.toUnsignedInt(ibv_qp_attr.retry_cnt(with(QueuePairAttribute.RETRY_CNT)));
  }

  /**
   * How often to send again what the peer had no receive for.
   *
   * @return the count
   * @throws IllegalStateException if {@code RNR_RETRY} is not {@linkplain #meant meant}
   */
  public int rnrRetry() {
    return Byte.toUnsignedInt(ibv_qp_attr.rnr_retry(with(QueuePairAttribute.RNR_RETRY)));
  }

  /**
   * The number of the first packet that is received.
   *
   * @return the PSN
   * @throws IllegalStateException if {@code RQ_PSN} is not {@linkplain #meant meant}
   */
  public int receivePsn() {
    return ibv_qp_attr.rq_psn(with(QueuePairAttribute.RQ_PSN));
  }

  /**
   * How many RDMA reads and atomics may be under way.
   *
   * @return the limit
   * @throws IllegalStateException if {@code MAX_QP_RD_ATOMIC} is not {@linkplain #meant meant}
   */
  public int readsAsInitiator() {
    return Byte.toUnsignedInt(ibv_qp_attr.max_rd_atomic(with(QueuePairAttribute.MAX_QP_RD_ATOMIC)));
  }

  /**
   * The path to change to when the first one fails.
   *
   * @return the path, or empty if there is none
   * @throws IllegalStateException if {@code ALT_PATH} is not {@linkplain #meant meant}
   */
  public Optional<AlternatePath> alternatePath() {
    MemorySegment attributes = with(QueuePairAttribute.ALT_PATH);
    return AddressVector.readFrom(ibv_qp_attr.alt_ah_attr(attributes))
        .map(
            path ->
                new AlternatePath(
                    path,
                    Short.toUnsignedInt(ibv_qp_attr.alt_pkey_index(attributes)),
                    ibv_qp_attr.alt_timeout(attributes) & 0x1f));
  }

  /**
   * How long the peer waits when there is no receive for what it sent, in InfiniBand's code.
   *
   * @return the code
   * @throws IllegalStateException if {@code MIN_RNR_TIMER} is not {@linkplain #meant meant}
   */
  public int minRnrTimer() {
    return Byte.toUnsignedInt(ibv_qp_attr.min_rnr_timer(with(QueuePairAttribute.MIN_RNR_TIMER)));
  }

  /**
   * The number of the first packet that is sent.
   *
   * @return the PSN
   * @throws IllegalStateException if {@code SQ_PSN} is not {@linkplain #meant meant}
   */
  public int sendPsn() {
    return ibv_qp_attr.sq_psn(with(QueuePairAttribute.SQ_PSN));
  }

  /**
   * How many RDMA reads and atomics of the peer are served at a time.
   *
   * @return the limit
   * @throws IllegalStateException if {@code MAX_DEST_RD_ATOMIC} is not {@linkplain #meant meant}
   */
  public int readsAsTarget() {
    return Byte.toUnsignedInt(
        ibv_qp_attr.max_dest_rd_atomic(with(QueuePairAttribute.MAX_DEST_RD_ATOMIC)));
  }

  /**
   * What to do with the alternate path.
   *
   * @return what is done with it
   * @throws IllegalStateException if {@code PATH_MIG_STATE} is not {@linkplain #meant meant}
   */
  public MigrationState migrationState() {
    return Codes.of(
        MigrationState.class,
        ibv_qp_attr.path_mig_state(with(QueuePairAttribute.PATH_MIG_STATE)),
        MigrationState.MIGRATED);
  }

  /**
   * How much the queues hold; few devices can change it.
   *
   * @return the real capacity
   * @throws IllegalStateException if {@code CAP} is not {@linkplain #meant meant}
   */
  public QueuePairCapacity capacity() {
    return QueuePairCapacity.readFrom(ibv_qp_attr.cap(with(QueuePairAttribute.CAP)));
  }

  /**
   * The peer's queue pair.
   *
   * @return its number
   * @throws IllegalStateException if {@code DEST_QPN} is not {@linkplain #meant meant}
   */
  public int destination() {
    return ibv_qp_attr.dest_qp_num(with(QueuePairAttribute.DEST_QPN));
  }

  /**
   * How fast to send.
   *
   * @return kbit/s
   * @throws IllegalStateException if {@code RATE_LIMIT} is not {@linkplain #meant meant}
   */
  public long rateLimit() {
    return Integer.toUnsignedLong(ibv_qp_attr.rate_limit(with(QueuePairAttribute.RATE_LIMIT)));
  }

  /**
   * Whether sends are still being ended, in state SQD of a queried queue pair.
   *
   * @return false once the send queue is drained
   * @throws IllegalStateException if {@code STATE} is not {@linkplain #meant meant}
   */
  public boolean isDraining() {
    return ibv_qp_attr.sq_draining(with(QueuePairAttribute.STATE)) != 0;
  }

  @Override
  public String toString() {
    return meant.toString();
  }
}
