package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.internal.Memory;
import dev.verbena.internal.QueuePairCalls;
import dev.verbena.raw.ibv_qp;
import dev.verbena.raw.ibv_qp_attr;
import dev.verbena.raw.ibv_qp_init_attr;
import dev.verbena.raw.ibv_qp_init_attr_ex;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;

/** A queue pair: {@code struct ibv_qp}. */
public final class QueuePair extends Resource {
  private final ProtectionDomain domain;
  private final QueuePairType type;
  private final QueuePairCapacity capacity;
  private final int number;
  private final QueuePairCalls calls;
  private final BringUp bringUp = new BringUp(this);
  private final QueueLimits sends;
  private final QueueLimits receives;

  /**
   * A queue pair that C code made and that is given back in C code's way, such as one of librdmacm.
   *
   * @param domain the domain it belongs to
   * @param segment the {@code struct ibv_qp}
   * @param capacity how much its queues hold
   * @param release gives the queue pair back; throws if C refuses
   * @param parents what must be closed after the queue pair
   * @return a queue pair, to be closed
   */
  public static QueuePair adopt(
      ProtectionDomain domain,
      MemorySegment segment,
      QueuePairCapacity capacity,
      Runnable release,
      Resource... parents) {
    return new QueuePair(domain, segment.address(), capacity, release, parents);
  }

  private QueuePair(
      ProtectionDomain domain,
      long address,
      QueuePairCapacity capacity,
      Runnable release,
      Resource... parents) {
    super(address, release, parents);
    MemorySegment qp = Memory.at(address, ibv_qp.sizeof());
    this.domain = domain;
    this.type = Codes.of(QueuePairType.class, ibv_qp.qp_type(qp), QueuePairType.DRIVER);
    this.capacity = capacity;
    this.number = ibv_qp.qp_num(qp);
    this.calls = new QueuePairCalls(address, domain.context().linking().isCritical());
    this.sends = new QueueLimits(this, domain, type, capacity.sendEntries(), capacity.inlineData());
    this.receives = new QueueLimits(this, domain, null, capacity.receiveEntries(), 0);
  }

  /** What can be asked for when a queue pair is made. */
  public static final class Builder {
    private final ProtectionDomain domain;
    private final QueuePairType type;
    private CompletionQueue sendCompletions;
    private CompletionQueue receiveCompletions;
    private QueuePairCapacity capacity = new QueuePairCapacity(1, 1, 1, 1, 0);
    private boolean signalAll;

    Builder(ProtectionDomain domain, QueuePairType type) {
      this.domain = domain;
      this.type = Objects.requireNonNull(type, "type");
    }

    /**
     * Chooses one completion queue for sends and receives.
     *
     * @param queue a queue of the same context
     * @return this
     */
    public Builder completions(CompletionQueue queue) {
      return sendCompletions(queue).receiveCompletions(queue);
    }

    /**
     * Chooses the completion queue for sends.
     *
     * @param queue a queue of the same context
     * @return this
     */
    public Builder sendCompletions(CompletionQueue queue) {
      this.sendCompletions = ofSameContext(queue);
      return this;
    }

    /**
     * Chooses the completion queue for receives.
     *
     * @param queue a queue of the same context
     * @return this
     */
    public Builder receiveCompletions(CompletionQueue queue) {
      this.receiveCompletions = ofSameContext(queue);
      return this;
    }

    private CompletionQueue ofSameContext(CompletionQueue queue) {
      if (queue.context() != domain.context()) {
        throw new IllegalArgumentException(queue + " is not of " + domain.context());
      }
      return queue;
    }

    /**
     * How much the queues must hold; by default one request of one entry each.
     *
     * @param capacity what is asked for; the queue pair may hold more
     * @return this
     */
    public Builder capacity(QueuePairCapacity capacity) {
      this.capacity = Objects.requireNonNull(capacity, "capacity");
      return this;
    }

    /**
     * Makes every send complete, flagged or not: {@code sq_sig_all}.
     *
     * @return this
     */
    public Builder signalAll() {
      this.signalAll = true;
      return this;
    }

    /**
     * Makes the queue pair: {@code ibv_create_qp}.
     *
     * @return a queue pair in state RESET, to be closed
     */
    public QueuePair create() {
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment attr = attributes(arena);
        long qp = domain.verbs().ibv_create_qp(domain.address(), attr.address());
        return new QueuePair(
            domain,
            qp,
            QueuePairCapacity.readFrom(ibv_qp_init_attr_ex.cap(attr)),
            () -> domain.verbs().ibv_destroy_qp(qp),
            parents());
      }
    }

    /**
     * Makes the queue pair with C code elsewhere, such as librdmacm's.
     *
     * @param owner what the queue pair belongs to besides its domain and queues
     * @param maker makes the queue pair and gives it back
     * @return a queue pair, to be closed
     */
    public QueuePair create(Resource owner, Maker maker) {
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment attr = attributes(arena);
        MemorySegment qp = maker.create(attr);
        return new QueuePair(
            domain,
            qp.address(),
            QueuePairCapacity.readFrom(ibv_qp_init_attr_ex.cap(attr)),
            maker::destroy,
            Stream.concat(Stream.of(owner), Stream.of(parents())).toArray(Resource[]::new));
      }
    }

    private Resource[] parents() {
      return new Resource[] {domain, sendCompletions, receiveCompletions};
    }

    /** The {@code struct ibv_qp_init_attr_ex}, which begins with {@code ibv_qp_init_attr}. */
    private MemorySegment attributes(Arena arena) {
      Objects.requireNonNull(sendCompletions, "a queue pair needs a completion queue for sends");
      Objects.requireNonNull(receiveCompletions, "a queue pair needs one for receives");
      MemorySegment attr = ibv_qp_init_attr_ex.allocate(arena);
      ibv_qp_init_attr_ex.send_cq(attr, sendCompletions.segment());
      ibv_qp_init_attr_ex.recv_cq(attr, receiveCompletions.segment());
      ibv_qp_init_attr_ex.qp_type(attr, type.code());
      ibv_qp_init_attr_ex.sq_sig_all(attr, signalAll ? 1 : 0);
      ibv_qp_init_attr_ex.comp_mask(attr, rdma_h.IBV_QP_INIT_ATTR_PD());
      ibv_qp_init_attr_ex.pd(attr, domain.segment());
      capacity.writeTo(ibv_qp_init_attr_ex.cap(attr));
      return attr;
    }
  }

  /** C code that makes a queue pair in a way of its own. */
  public interface Maker {
    /**
     * Makes the queue pair.
     *
     * @param attributes the {@code struct ibv_qp_init_attr_ex}; what C changes in it is heeded
     * @return the {@code struct ibv_qp}
     */
    MemorySegment create(MemorySegment attributes);

    /** Gives the queue pair back; throws if C refuses. */
    void destroy();
  }

  /**
   * Posts all requests of a list: {@code ibv_post_send}.
   *
   * @param list formatted requests
   * @return how many were taken, from the first: less than all if the queue is full
   * @throws dev.verbena.VerbsException if C refuses a request for another reason; those before it
   *     were taken, and {@link RequestList#refused} tells which it was
   */
  public int post(SendList list) {
    return post(list, 0, list.size());
  }

  /**
   * Posts some requests of a list: {@code ibv_post_send}.
   *
   * @param list formatted requests
   * @param from the index of the first one
   * @param count how many
   * @return how many were taken, from the first: less than {@code count} if the queue is full
   * @throws IllegalArgumentException if the queue pair cannot take a request; nothing is posted
   * @throws IllegalStateException if the queue pair or something that a request names is closed;
   *     nothing is posted
   * @throws dev.verbena.VerbsException if C refuses a request for another reason; those before it
   *     were taken, and {@link RequestList#refused} tells which it was
   */
  public int post(SendList list, int from, int count) {
    if (Checks.ON && !list.isAdmitted(this, from, count)) {
      list.admit(sends, from, count);
    }
    if (count == 0) {
      return 0;
    }
    int errno = calls.ibv_post_send(list.chain(from, count), list.refusedWord());
    list.memory.keep();
    return errno == 0 ? count : list.taken("ibv_post_send", errno, this, from, count);
  }

  /**
   * Posts all requests of a list: {@code ibv_post_recv}.
   *
   * @param list receive requests
   * @return how many were taken, from the first: less than all if the queue is full
   * @throws dev.verbena.VerbsException if C refuses a request for another reason; those before it
   *     were taken, and {@link RequestList#refused} tells which it was
   */
  public int post(ReceiveList list) {
    return post(list, 0, list.size());
  }

  /**
   * Posts some requests of a list: {@code ibv_post_recv}.
   *
   * @param list receive requests
   * @param from the index of the first one
   * @param count how many
   * @return how many were taken, from the first: less than {@code count} if the queue is full
   * @throws IllegalArgumentException if the queue pair cannot take a request; nothing is posted
   * @throws IllegalStateException if the queue pair or something that a request names is closed;
   *     nothing is posted
   * @throws dev.verbena.VerbsException if C refuses a request for another reason; those before it
   *     were taken, and {@link RequestList#refused} tells which it was
   */
  public int post(ReceiveList list, int from, int count) {
    if (Checks.ON && !list.isAdmitted(this, from, count)) {
      list.admit(receives, from, count);
    }
    if (count == 0) {
      return 0;
    }
    int errno = calls.ibv_post_recv(list.chain(from, count), list.refusedWord());
    list.memory.keep();
    return errno == 0 ? count : list.taken("ibv_post_recv", errno, this, from, count);
  }

  /**
   * The queue pair number, by which peers name it.
   *
   * @return the QPN
   */
  public int number() {
    return number;
  }

  /**
   * The transport service.
   *
   * @return the type it was made with
   */
  public QueuePairType type() {
    return type;
  }

  /**
   * How much the queues hold.
   *
   * @return at least what was asked for
   */
  public QueuePairCapacity capacity() {
    return capacity;
  }

  /**
   * The domain that the queue pair belongs to.
   *
   * @return the domain
   */
  public ProtectionDomain domain() {
    return domain;
  }

  /**
   * The context that the queue pair was made from.
   *
   * @return the context
   */
  public Context context() {
    return domain.context();
  }

  /**
   * How the queue pair is brought into use, to be changed before it is.
   *
   * @return the settings behind {@link #localAddress}, {@link #connect} and {@link #activate}
   */
  public BringUp bringUp() {
    return bringUp;
  }

  /**
   * What a peer must know to talk to this queue pair.
   *
   * @return its address by the settings of {@link #bringUp}
   */
  public QueuePairAddress localAddress() {
    return bringUp.address();
  }

  /**
   * Connects the queue pair to a peer, which must do the same: from RESET or INIT to RTS.
   *
   * @param remote the peer's {@link #localAddress}
   */
  public void connect(QueuePairAddress remote) {
    bringUp.connect(remote);
  }

  /** Brings a queue pair without a single peer (UD, RAW_PACKET) into use: from RESET to RTS. */
  public void activate() {
    bringUp.activate();
  }

  /**
   * Begins the move from RESET to INIT.
   *
   * @return a builder that asks for what it needs
   */
  public ToInit toInit() {
    requireOpen();
    return new ToInit(this);
  }

  /**
   * Begins the move from INIT to RTR.
   *
   * @return a builder that asks for what it needs
   */
  public ToReadyToReceive toReadyToReceive() {
    requireOpen();
    return new ToReadyToReceive(this);
  }

  /**
   * Begins the move from RTR to RTS.
   *
   * @return a builder that asks for what it needs
   */
  public ToReadyToSend toReadyToSend() {
    requireOpen();
    return new ToReadyToSend(this);
  }

  /**
   * Ends the sends that were begun and starts no others: from RTS to SQD.
   *
   * @param notify whether an event tells when the send queue is drained
   */
  public void drain(boolean notify) {
    modify(
        QueuePairAttributes.builder()
            .state(QueuePairState.SQD)
            .notifyDrained(notify)
            .only(
                notify
                    ? EnumSet.of(QueuePairAttribute.STATE, QueuePairAttribute.EN_SQD_ASYNC_NOTIFY)
                    : EnumSet.of(QueuePairAttribute.STATE)));
  }

  /** Takes sending up again: from SQD or SQE to RTS. */
  public void resume() {
    modify(QueuePairAttributes.builder().state(QueuePairState.RTS).build());
  }

  /** Forgets everything, requests included, from whatever state: to be brought up again. */
  public void reset() {
    modify(QueuePairAttributes.builder().state(QueuePairState.RESET).build());
  }

  /** Completes all requests as flushed: to state ERR. */
  public void fail() {
    modify(QueuePairAttributes.builder().state(QueuePairState.ERR).build());
  }

  /** Whether a move of this transport service needs an attribute. */
  boolean needs(QueuePairState from, QueuePairState to, QueuePairAttribute attribute) {
    return StateTable.required(type, from, to).contains(attribute);
  }

  /** A change that the state table is asked about before the device is. */
  void move(QueuePairState from, QueuePairAttributes attributes) {
    StateTable.explain(type, from, attributes.state(), attributes.meant())
        .ifPresent(
            fault -> {
              throw new IllegalStateException(this + ": " + fault);
            });
    modify(attributes);
  }

  /**
   * Changes the queue pair: {@code ibv_modify_qp}. Either all attributes are changed or none.
   *
   * @param attributes what to change, and to what
   * @throws VerbsException EINVAL, saying which attribute the state table misses or forbids
   */
  public void modify(QueuePairAttributes attributes) {
    try {
      domain.verbs().ibv_modify_qp(address(), attributes.address(), attributes.mask());
    } catch (VerbsException e) {
      throw new ModifyFailure(this, attributes).explain(e);
    }
  }

  /**
   * The state of the queue pair now: {@code ibv_query_qp}.
   *
   * @return its state, as the device has it
   */
  public QueuePairState state() {
    return query(QueuePairAttribute.STATE).state();
  }

  /**
   * All attributes of the queue pair now: {@code ibv_query_qp}. What the state does not need yet is
   * undefined.
   *
   * @return the attributes, the rate limit excepted, which C does not tell
   */
  public QueuePairAttributes query() {
    EnumSet<QueuePairAttribute> all = EnumSet.allOf(QueuePairAttribute.class);
    all.remove(QueuePairAttribute.RATE_LIMIT);
    return query(all);
  }

  /**
   * Some attributes of the queue pair now: {@code ibv_query_qp}.
   *
   * @param wanted which ones; C may tell more, but only these can be read from the result
   * @return the attributes
   */
  public QueuePairAttributes query(QueuePairAttribute... wanted) {
    return query(Set.of(wanted));
  }

  private QueuePairAttributes query(Set<QueuePairAttribute> wanted) {
    MemorySegment attr = ibv_qp_attr.allocate(Arena.ofAuto());
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment initAttr = ibv_qp_init_attr.allocate(arena);
      domain
          .verbs()
          .ibv_query_qp(address(), attr.address(), (int) Flags.mask(wanted), initAttr.address());
    }
    return new QueuePairAttributes(attr, wanted);
  }

  /**
   * Begins a rule that brings packets to this queue pair.
   *
   * @param port the port that they arrive at
   * @return a builder
   */
  public FlowRule.Builder flowRule(int port) {
    return new FlowRule.Builder(this, port);
  }

  QueuePairCalls calls() {
    return calls;
  }

  @Override
  public String toString() {
    return "queue pair 0x" + Integer.toHexString(number) + " of " + domain.context().device();
  }
}
