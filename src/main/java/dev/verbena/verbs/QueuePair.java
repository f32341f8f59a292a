package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Ece;
import dev.verbena.internal.Memory;
import dev.verbena.internal.QueuePairCalls;
import dev.verbena.internal.Segments;
import dev.verbena.raw.ibv_qp;
import dev.verbena.raw.ibv_qp_attr;
import dev.verbena.raw.ibv_qp_init_attr;
import dev.verbena.raw.ibv_qp_open_attr;
import dev.verbena.raw.ibv_qp_rate_limit_attr;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * A queue pair: {@code struct ibv_qp}.
 *
 * <p>Closing it calls {@code ibv_destroy_qp}.
 */
public final class QueuePair extends Resource implements ReceiveQueue {
  private static final long STATE = ibv_qp.state$offset();

  private final Context context;
  private final ProtectionDomain domain;
  private final QueuePairType type;
  private final QueuePairCapacity capacity;
  private final int number;
  private final Set<SendOperation> sendOperations;
  private final MulticastGroups groups;
  private final QueuePairCalls calls;
  private final QueuePairSetup setup = new QueuePairSetup(this);
  private final QueueLimits sends;
  private final QueueLimits receives;
  private final boolean sendsItself;
  private final boolean receivesItself;
  private final Posting posting;

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
    long address = Segments.object(segment, "ibv_qp");
    try {
      return make(
          List.of(parents),
          () ->
              new QueuePair(
                  new Made(domain.context(), domain, address, capacity, Set.of(), false, release)));
    } catch (IllegalStateException e) {
      release.run(); // A parent is closed already.
      throw e;
    }
  }

  QueuePair(Made made) {
    super(made.address(), made::release);
    MemorySegment qp = Memory.at(made.address(), ibv_qp.sizeof());
    this.context = made.context();
    this.domain = made.domain();
    this.type = Codes.of(QueuePairType.class, ibv_qp.qp_type(qp), QueuePairType.DRIVER);
    this.capacity = made.capacity();
    this.sendOperations = made.sendOperations();
    this.groups = made.groups();
    this.number = ibv_qp.qp_num(qp);
    this.calls = new QueuePairCalls(made.address(), context.criticalCalls());
    ProtectionDomain root = domain == null ? null : domain.root();
    this.sends = new QueueLimits(this, root, type, capacity.sendSges(), capacity.maxInlineData());
    this.receives = new QueueLimits(this, root, null, capacity.receiveSges(), 0);
    this.sendsItself = !made.spreads() && ibv_qp.send_cq(qp).address() != 0;
    this.receivesItself =
        !made.spreads()
            && ibv_qp.recv_cq(qp).address() != 0
            && ibv_qp.srq(qp).address() == 0
            && type != QueuePairType.XRC_SEND
            && type != QueuePairType.XRC_RECV;
    this.posting = sendOperations.isEmpty() ? null : new Posting(this, sends, sendOperations);
  }

  /**
   * A queue pair that C made: what it holds, and how it is given back.
   *
   * @param spreads whether it only spreads packets over a table of work queues
   */
  record Made(
      Context context,
      ProtectionDomain domain,
      long address,
      QueuePairCapacity capacity,
      Set<SendOperation> sendOperations,
      boolean spreads,
      Runnable destroy,
      MulticastGroups groups) {

    Made(
        Context context,
        ProtectionDomain domain,
        long address,
        QueuePairCapacity capacity,
        Set<SendOperation> sendOperations,
        boolean spreads,
        Runnable destroy) {
      this(
          context,
          domain,
          address,
          capacity,
          sendOperations,
          spreads,
          destroy,
          new MulticastGroups(context.verbs(), address));
    }

    void release() {
      groups.leaveAndThen(destroy);
    }
  }

  /** Opens a queue pair of an XRC domain that another process made. */
  static QueuePair open(XrcDomain xrcDomain, int number) {
    Context context = xrcDomain.context();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = ibv_qp_open_attr.allocate(arena);
      ibv_qp_open_attr.comp_mask(
          attr,
          rdma_h.IBV_QP_OPEN_ATTR_NUM()
              | rdma_h.IBV_QP_OPEN_ATTR_XRCD()
              | rdma_h.IBV_QP_OPEN_ATTR_TYPE());
      ibv_qp_open_attr.qp_num(attr, Ranges.bits(number, 24, "a QPN"));
      ibv_qp_open_attr.xrcd(attr, xrcDomain.segment());
      ibv_qp_open_attr.qp_type(attr, QueuePairType.XRC_RECV.code());
      return make(
          List.of(xrcDomain),
          () -> {
            long qp = context.verbs().ibv_open_qp(context.address(), attr.address());
            return new QueuePair(
                new Made(
                    context,
                    null,
                    qp,
                    QueuePairCapacity.NONE,
                    Set.of(),
                    false,
                    () -> context.verbs().ibv_destroy_qp(qp)));
          });
    }
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
   * @throws IllegalStateException if the queue pair or something that a request names is closed, or
   *     if it has no send queue: nothing is posted; or if its state takes no sends yet, in which
   *     Soft-RoCE nonetheless keeps them for later
   * @throws dev.verbena.VerbsException if C refuses a request for another reason; those before it
   *     were taken, and {@link RequestList#refused} tells which it was
   */
  public int post(SendList list, int from, int count) {
    list.enter();
    try {
      if (BoundsChecks.ON) {
        if (!list.isValidated(this, from, count)) {
          requireSendQueue();
          list.validate(sends, from, count);
        }
        requireNoPosting();
      }
      if (count == 0) {
        return 0;
      }
      int errno = calls.ibv_post_send(list.chain(from, count), list.refusedWord());
      list.memory.keep();
      return errno == 0 ? count : list.taken("ibv_post_send", errno, this, from, count);
    } finally {
      list.leave();
    }
  }

  /**
   * Begins to post requests one by one: {@code ibv_wr_start} on what {@code ibv_qp_to_qp_ex} says.
   * Slower than {@link #post(SendList)}, since each step is a call of its own: for what only this
   * interface can do.
   *
   * @return the one posting of this queue pair, to be completed or closed
   * @throws IllegalStateException if it is open already, or if the queue pair was made without
   *     {@link QueuePairBuilder#sendOperations}
   */
  public Posting startPosting() {
    requireOpen();
    requireSendQueue();
    if (posting == null) {
      throw new IllegalStateException(this + " was made without send operations to be built");
    }
    return posting.start();
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
   * @throws IllegalStateException if the queue pair or something that a request names is closed, or
   *     if it has no receive queue of its own, or if its state takes no receives yet; nothing is
   *     posted
   * @throws dev.verbena.VerbsException if C refuses a request for another reason; those before it
   *     were taken, and {@link RequestList#refused} tells which it was
   */
  @Override
  public int post(ReceiveList list, int from, int count) {
    list.enter();
    try {
      if (BoundsChecks.ON && !list.isValidated(this, from, count)) {
        if (!receivesItself) {
          throw new IllegalStateException(this + " has no receive queue of its own");
        }
        list.validate(receives, from, count);
      }
      if (count == 0) {
        return 0;
      }
      int errno = calls.ibv_post_recv(list.chain(from, count), list.refusedWord());
      list.memory.keep();
      return errno == 0 ? count : list.taken("ibv_post_recv", errno, this, from, count);
    } finally {
      list.leave();
    }
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
   * @throws IllegalStateException if it is the receiving end of XRC, which has only an XRC domain
   */
  public ProtectionDomain domain() {
    if (domain == null) {
      throw new IllegalStateException(this + " belongs to no protection domain");
    }
    return domain;
  }

  /**
   * What can be posted through the {@code ibv_wr_*} interface.
   *
   * @return what was asked for when the queue pair was made
   */
  public Set<SendOperation> sendOperations() {
    return sendOperations;
  }

  /**
   * The context that the queue pair was made from.
   *
   * @return the context
   */
  public Context context() {
    return context;
  }

  /**
   * How the queue pair is brought into use, to be changed before it is.
   *
   * @return the settings behind {@link #localAddress}, {@link #connect} and {@link #activate}
   */
  public QueuePairSetup setup() {
    return setup;
  }

  /**
   * What a peer must know to talk to this queue pair.
   *
   * @return its address by the settings of {@link #setup}
   */
  public QueuePairAddress localAddress() {
    return setup.address();
  }

  /**
   * Connects the queue pair to a peer, which must do the same: from RESET or INIT to RTS.
   *
   * @param remote the peer's {@link #localAddress}
   */
  public void connect(QueuePairAddress remote) {
    setup.connect(remote);
  }

  /** Brings a queue pair without a single peer (UD, RAW_PACKET) into use: from RESET to RTS. */
  public void activate() {
    setup.activate();
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
   * Drains the send queue: transitions the queue pair from RTS to SQD (send queue drained), where
   * the device completes the send requests that it has begun and begins no others. Draining
   * continues after this method returns, until {@link QueuePairAttributes#isDraining} of a {@link
   * #query} is false.
   */
  public void drain() {
    modify(QueuePairAttributes.builder().state(QueuePairState.SQD).build());
  }

  /**
   * Drains the send queue as {@link #drain} does, and requests the asynchronous event {@link
   * AsyncEventType#SQ_DRAINED}, which is generated when all send requests that were begun are
   * completed.
   */
  public void drainWithEvent() {
    modify(QueuePairAttributes.builder().state(QueuePairState.SQD).notifyDrained(true).build());
  }

  /**
   * Takes sending up again: from SQD or SQE to RTS.
   *
   * @throws dev.verbena.VerbsException EINVAL while the send queue still drains, where the device
   *     minds
   */
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
    StateTable.explain(type, from, attributes.state(), attributes.mask())
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
   * @throws IllegalStateException if this thread has a posting open, or is to reset the queue pair
   *     while it has the cursor of a completion queue open: C would wait for its end
   * @throws VerbsException EINVAL, saying which attribute the state table misses or forbids
   */
  public void modify(QueuePairAttributes attributes) {
    requireNoPosting();
    if (attributes.mask().contains(QueuePairAttribute.STATE)
        && attributes.state() == QueuePairState.RESET) {
      requireNoCursor("resetting " + this);
    }
    try {
      whileOpen(
          () ->
              context
                  .verbs()
                  .ibv_modify_qp(address(), attributes.address(), attributes.maskBits()));
    } catch (VerbsException e) {
      throw new ModifyFailure(this, attributes).explain(e);
    } finally {
      Reference.reachabilityFence(attributes); // C reads what it owns.
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
   * Attaches the queue pair to a multicast group: {@code ibv_attach_mcast}. On InfiniBand the group
   * must be joined as well, which RDMA CM does; on Ethernet no more is needed. Attaching twice is
   * attaching once. Closing the queue pair detaches it.
   *
   * @param group the group's GID
   * @param lid the group's LID; 0 on Ethernet
   * @throws IllegalStateException if this is no UD queue pair
   */
  public void attachMulticast(Gid group, int lid) {
    requireOpen();
    whileOpen(() -> groups.attach(multicast(group), multicastLid(lid)));
  }

  /**
   * Detaches the queue pair from a multicast group: {@code ibv_detach_mcast}.
   *
   * @param group the group's GID
   * @param lid the group's LID; 0 on Ethernet
   * @throws IllegalStateException if this is no UD queue pair
   */
  public void detachMulticast(Gid group, int lid) {
    requireOpen();
    whileOpen(() -> groups.detach(multicast(group), multicastLid(lid)));
  }

  private Gid multicast(Gid group) {
    if (type != QueuePairType.UD) {
      throw new IllegalStateException("only UD has multicast, not " + type);
    }
    if (!group.isMulticast()) {
      throw new IllegalArgumentException(group + " is no multicast group, of IPv6 or IPv4");
    }
    return group;
  }

  private static short multicastLid(int lid) {
    return (short) Ranges.bits(lid, Short.SIZE, "a LID");
  }

  /**
   * What the provider would like to agree with that of the peer: {@code ibv_query_ece}.
   *
   * @return the options for an enhanced connection, to be sent to the peer
   */
  public EnhancedConnectionEstablishment enhancedConnection() {
    return Ece.get(
        ece -> whileOpen(() -> context.verbs().ibv_query_ece(address(), ece)),
        EnhancedConnectionEstablishment::new);
  }

  /**
   * Tells the provider what that of the peer would like to agree: {@code ibv_set_ece}. To be done
   * before state RTR.
   *
   * @param options as the peer's queue pair told them
   */
  public void enhancedConnection(EnhancedConnectionEstablishment options) {
    Ece.set(
        options.vendor(),
        options.options(),
        ece -> whileOpen(() -> context.verbs().ibv_set_ece(address(), ece)));
  }

  /**
   * Whether the data of each operation arrives in order, so that memory may be polled instead of
   * completions: {@code ibv_query_qp_data_in_order}.
   *
   * @param opcode a send or write of the peer's, or a read of this side's
   * @return what is in order; empty where nothing is, or where the processor may reorder
   */
  public Set<DataInOrder> dataInOrder(WorkRequestOpcode opcode) {
    return dataInOrder(opcode, rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS());
  }

  /**
   * The same as far as the device goes, whatever the processor does.
   *
   * @param opcode a send or write of the peer's, or a read of this side's
   * @return what the device writes in order
   */
  public Set<DataInOrder> dataInOrderOfDevice(WorkRequestOpcode opcode) {
    return dataInOrder(
        opcode,
        rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS()
            | rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_DEVICE_ONLY());
  }

  private Set<DataInOrder> dataInOrder(WorkRequestOpcode opcode, int flags) {
    int caps =
        whileOpen(
            () -> context.verbs().ibv_query_qp_data_in_order(address(), opcode.code(), flags));
    return Flags.of(DataInOrder.class, caps);
  }

  /**
   * Holds the queue pair down to a rate: {@code ibv_modify_qp_rate_limit}.
   *
   * @param limit the rate
   */
  public void limitRate(RateLimit limit) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = ibv_qp_rate_limit_attr.allocate(arena);
      limit.writeTo(attr);
      whileOpen(() -> context.verbs().ibv_modify_qp_rate_limit(address(), attr.address()));
    } catch (VerbsException e) {
      throw e.isUnsupported() ? e.explained(context.device() + " has no packet pacing") : e;
    }
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
      whileOpen(
          () ->
              context
                  .verbs()
                  .ibv_query_qp(
                      address(), attr.address(), (int) Flags.mask(wanted), initAttr.address()));
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

  /** Refuses to post where mlx5 would follow the null pointer of a missing completion queue. */
  void requireSendQueue() {
    if (!sendsItself) {
      throw new IllegalStateException(this + " has no send queue of its own");
    }
  }

  /**
   * Tells requests that came too early from those that do not fit. What C says of them differs by
   * provider, and to mlx5 it is a full queue, for which a caller would wait for ever. Looks at the
   * state that {@code ibv_modify_qp} keeps, without allocating: a full queue is no exception.
   *
   * @param needed the state from which on such requests are taken
   * @param function what was called
   * @param errno what it said
   */
  void requireReached(QueuePairState needed, String function, int errno) {
    int state = Memory.getInt(address() + STATE);
    if (state < needed.code()) {
      throw new IllegalStateException(
          "%s is in state %s, posting needs %s (%s: %s)"
              .formatted(
                  this,
                  Codes.of(QueuePairState.class, state, QueuePairState.UNKNOWN),
                  needed,
                  function,
                  Errno.name(errno)));
    }
  }

  /**
   * Refuses what would wait in C, for ever, for the end of a posting of this thread, and ends the
   * posting of a thread that is no more.
   */
  void requireNoPosting() {
    if (posting != null) {
      if (posting.isOpenHere()) {
        throw new IllegalStateException(
            "a posting is open on " + this + ": C would wait for its end");
      }
      posting.abortIfAbandoned();
    }
  }

  /** Forgetting the queue pair's completions takes the locks of their queues. */
  private void requireNoCursor(String action) {
    parents(CompletionQueue.class).forEach(queue -> queue.requireNoCursor(action));
  }

  @Override
  protected void beforeClose() {
    if (posting != null) {
      posting.requireClosed();
    }
    requireNoCursor("closing " + this);
  }

  @Override
  public String toString() {
    return "queue pair 0x" + Integer.toHexString(number) + " of " + context.device();
  }
}
