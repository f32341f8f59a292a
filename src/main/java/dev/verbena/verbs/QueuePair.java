package dev.verbena.verbs;

import dev.verbena.FlagSet;
import dev.verbena.NativeFlag;
import dev.verbena.RdmaTimeoutException;
import dev.verbena.VerbsException;
import dev.verbena.address.Gid;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.internal.BoundsChecks;
import dev.verbena.internal.CheckReturnValue;
import dev.verbena.internal.Codes;
import dev.verbena.internal.Ece;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.ListedSendCalls;
import dev.verbena.internal.Ranges;
import dev.verbena.internal.calls.NativeQueuePairCalls;
import dev.verbena.internal.calls.QueuePairCalls;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.life.DataPathEntry;
import dev.verbena.raw.ibv_qp;
import dev.verbena.raw.ibv_qp_open_attr;
import dev.verbena.raw.ibv_qp_rate_limit_attr;
import dev.verbena.raw.rdma_h;
import dev.verbena.values.AsyncEventType;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.DataInOrder;
import dev.verbena.values.EnhancedConnectionEstablishment;
import dev.verbena.values.QueuePairAttribute;
import dev.verbena.values.QueuePairAttributes;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.RateLimit;
import dev.verbena.values.SendOperation;
import dev.verbena.values.WorkRequestOpcode;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.ObjIntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A queue pair: {@code struct ibv_qp}.
 *
 * {@snippet :
 * try (QueuePair queuePair =
 *     QueuePair.builder(pd, QueuePairType.RC).completions(completionQueue).create()) {
 *   queuePair.connect(exchange(queuePair.localAddress())); // with the remote side
 *   SendList sends = new SendList(1, 1);
 *   sends.send(0).local(region, 0, 64).signaled();
 *   int posted = queuePair.post(sends); // fewer than all if the queue is full
 * }
 * }
 *
 * <p>A new queue pair is in state RESET. {@link #connect} and {@link #activate} transition it to
 * RTS with the settings of {@link #setup}; {@link #modify} performs one transition with each of its
 * attributes. Receive requests can be posted from state INIT on, send requests from state RTS on.
 * After an error the queue pair is in state ERR: the outstanding work requests complete with {@link
 * CompletionStatus#WR_FLUSH_ERR}, and {@link #reset} makes it usable again.
 *
 * <p>A queue pair may be used by several threads, and closed while other threads post to it. Each
 * list of work requests is used by one thread at a time. Closing it calls {@code ibv_destroy_qp}.
 * See {@code ibv_create_qp(3)}, {@code ibv_modify_qp(3)} and {@code ibv_post_send(3)}.
 */
public final class QueuePair extends Resource implements ReceiveQueue {
  private final Context context;
  private final @Nullable ProtectionDomain domain;
  private final QueuePairType type;
  private final QueuePairCapacity capacity;
  final QueuePairCalls calls;
  private final MulticastGroups groups;
  final Transitions transitions;
  private final QueuePairSetup setup = new QueuePairSetup(this);
  private final RequestList.Limits sends;
  private final PostFailure sendFailure;
  private final boolean sendsItself;

  /** That of a DC target changes once, from 0: the device assigns it at the transition to RTR. */
  private volatile int number;

  /** Null if there is no receive queue of its own. */
  private final @Nullable ReceivePosts receives;

  private final @Nullable Posting posting;

  /** That of the posting, for the data path. */
  private final @Nullable ListedSendCalls listed;

  /**
   * {@return a builder of a queue pair}
   *
   * @param domain the protection domain
   * @param type the transport service
   */
  public static QueuePairBuilder builder(ProtectionDomain domain, QueuePairType type) {
    domain.core.requireOpen();
    return new QueuePairBuilder(domain, Objects.requireNonNull(type, "type"));
  }

  /**
   * {@return a builder of an XRC_RECV queue pair} It has no send and receive queue, and none of
   * their settings: senders name the shared receive queue of the domain that receives their
   * message.
   *
   * @param domain the XRC domain
   */
  public static QueuePairBuilder builder(XrcDomain domain) {
    domain.core.requireOpen();
    return new QueuePairBuilder(domain);
  }

  /** A queue pair that C code created, without a send queue of {@code ibv_wr_*}. */
  QueuePair(
      Core core, Context context, @Nullable ProtectionDomain domain, QueuePairCapacity capacity) {
    this(
        core,
        context,
        domain,
        QueuePairType.DRIVER,
        capacity,
        Set.of(),
        false,
        new NativeQueuePairCalls(core.address(), context.criticalCalls()));
  }

  /**
   * Creates the owner of a queue pair that was created by a C function.
   *
   * @param driverType the type if that of the C struct is DRIVER
   * @param spreads whether it distributes packets over work queues and has no queues itself
   */
  QueuePair(
      Core core,
      Context context,
      @Nullable ProtectionDomain domain,
      QueuePairType driverType,
      QueuePairCapacity capacity,
      Set<SendOperation> sendOperations,
      boolean spreads,
      QueuePairCalls calls) {
    super(core);
    long address = core.address();
    MemorySegment qp = Memory.at(address, ibv_qp.sizeof());
    this.context = context;
    this.domain = domain;
    int code = ibv_qp.qp_type(qp);
    this.type =
        code == QueuePairType.DRIVER.code()
            ? driverType
            : Codes.of(QueuePairType.class, code, QueuePairType.DRIVER);
    this.capacity = capacity;
    this.number = ibv_qp.qp_num(qp);
    this.calls = calls;
    this.groups = new MulticastGroups(this);
    this.transitions = new Transitions(this, calls);
    core.wrapDestruction(destroy -> groups.leaveAndThen(() -> calls.destroy(destroy)));
    core.beforeClose(this::beforeClose);
    long root = domain == null ? 0 : domain.root();
    this.sends =
        new RequestList.Limits(
            core, root, type, sendOperations, capacity.sendSges(), capacity.maxInlineData());
    this.sendFailure =
        new PostFailure(
            core,
            "ibv_post_send",
            (function, errno) -> transitions.requireReached(QueuePairState.RTS, function, errno));
    this.sendsItself =
        !spreads && ibv_qp.send_cq(qp).address() != 0 && type != QueuePairType.DC_TARGET;
    boolean receivesItself =
        !spreads
            && ibv_qp.recv_cq(qp).address() != 0
            && ibv_qp.srq(qp).address() == 0
            && type != QueuePairType.XRC_SEND
            && type != QueuePairType.XRC_RECV
            && !type.isDynamicallyConnected();
    this.receives =
        receivesItself
            ? new ReceivePosts(
                RequestList.Limits.ofReceives(core, root, capacity.receiveSges()),
                "ibv_post_recv",
                calls::ibv_post_recv,
                (function, errno) ->
                    transitions.requireReached(QueuePairState.INIT, function, errno))
            : null;
    this.posting = sendOperations.isEmpty() ? null : new Posting(this, sends);
    this.listed = posting == null ? null : posting.listed();
  }

  /**
   * Opens an XRC_RECV queue pair that another process created in the domain: {@code ibv_open_qp}.
   * It is destroyed when its last process closes it. Closing it crashes libmlx5 (rdma-core 65).
   *
   * @param xrcDomain the XRC domain
   * @param number the QPN
   * @return the queue pair, to be closed
   */
  public static QueuePair open(XrcDomain xrcDomain, int number) {
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
      return Core.make(
          List.of(xrcDomain),
          () -> context.verbs().ibv_open_qp(context.address(), attr.address()),
          context.verbs()::ibv_destroy_qp,
          core -> new QueuePair(core, context, null, QueuePairCapacity.NONE));
    }
  }

  /**
   * Posts all send requests of a list: {@code ibv_post_send}, or on an SRD queue pair and on a DC
   * initiator {@code ibv_wr_start}, three {@code ibv_wr_*} functions for each request, and {@code
   * ibv_wr_complete}. It throws what {@link #post(SendList, int, int)} throws.
   *
   * @param list formatted send requests
   * @return the number of requests that were posted, from the first one on; less than all if the
   *     queue is full
   */
  @CheckReturnValue
  public int post(SendList list) {
    return post(list, 0, list.size());
  }

  /**
   * Posts a range of send requests of a list: {@code ibv_post_send}.
   *
   * @param list formatted send requests
   * @param from the index of the first request
   * @param count the number of requests
   * @return the number of requests that were posted, from the first one on; less than {@code count}
   *     if the queue is full
   * @throws IllegalArgumentException if a request does not suit the queue pair; nothing is posted
   * @throws IllegalStateException if the queue pair or an object that a request names is closed, or
   *     if it has no send queue: nothing is posted; or if its state does not allow sends, in which
   *     case Soft-RoCE nonetheless keeps the requests and processes them in state RTS
   * @throws dev.verbena.VerbsException if {@code ibv_post_send} fails for another reason; the
   *     requests before the failed one were posted, and {@link RequestList#badRequest} returns its
   *     index
   */
  @CheckReturnValue
  public int post(SendList list, int from, int count) {
    DataPathEntry entry = list.user.enter();
    try {
      if (BoundsChecks.ON) {
        if (!list.isValidated(core, from, count)) {
          requireSendQueue();
          list.validate(sends, from, count);
        }
        requireNoPosting();
      }
      if (count == 0) {
        return 0;
      }
      if (listed != null) {
        return postListed(list, from, count);
      }
      int errno = calls.ibv_post_send(list.chain(from, count), list.badRequestWord());
      list.memory.keep();
      return errno == 0 ? count : sendFailure.posted(errno, list, from, count);
    } finally {
      entry.leave();
    }
  }

  private int postListed(SendList list, int from, int count) {
    int posted = listed.post(list.chain(from, count), count);
    list.memory.keep();
    return posted > 0 ? posted : posting.notPosted(-posted, count);
  }

  /**
   * Starts posting send requests one by one: {@code ibv_wr_start} on the result of {@code
   * ibv_qp_to_qp_ex}. It is slower than {@link #post(SendList)}, as each step is a call. Use it for
   * operations that only this interface provides.
   *
   * @return the single posting of this queue pair, to be completed or closed
   * @throws IllegalStateException if the posting is already open, or if the queue pair was created
   *     without {@link QueuePairBuilder#sendOperations}
   */
  public Posting startPosting() {
    core.requireOpen();
    requireSendQueue();
    if (posting == null) {
      throw new IllegalStateException(
          this + " was created without QueuePairBuilder.sendOperations");
    }
    return posting.start();
  }

  /**
   * Posts a range of receive requests of a list: {@code ibv_post_recv}.
   *
   * @throws IllegalArgumentException {@inheritDoc}
   * @throws IllegalStateException {@inheritDoc}; the same if the queue pair uses a shared receive
   *     queue, or if its state does not allow receive requests
   * @throws VerbsException {@inheritDoc}
   */
  @Override
  @CheckReturnValue
  public int post(ReceiveList list, int from, int count) {
    if (receives == null) {
      core.requireOpen();
      throw new IllegalStateException(this + " has no receive queue of its own");
    }
    return receives.post(list, from, count);
  }

  /**
   * {@return the queue pair number (QPN); that of a DC target, the DCT number (DCTN), is 0 before
   * state RTR}
   */
  public int number() {
    return number;
  }

  /** {@return the transport service} */
  public QueuePairType type() {
    return type;
  }

  /** {@return the capacity of the send and receive queue, at least that which was requested} */
  public QueuePairCapacity capacity() {
    return capacity;
  }

  /**
   * {@return whether Java code posts to the queue pair, as its completion queues are direct: see
   * {@link CompletionQueue.Builder#direct}}
   */
  public boolean isDirect() {
    return calls.isDirect();
  }

  /**
   * {@return the protection domain}
   *
   * @throws IllegalStateException if it is an XRC_RECV queue pair, which has only an XRC domain
   */
  public ProtectionDomain domain() {
    if (domain == null) {
      throw new IllegalStateException(this + " has no protection domain, only an XRC domain");
    }
    return domain;
  }

  /**
   * {@return the operations that were selected at creation, to be posted through the {@code
   * ibv_wr_*} interface}
   */
  public Set<SendOperation> sendOperations() {
    return sends.operations();
  }

  /** {@return the context of the queue pair} */
  public Context context() {
    return context;
  }

  /**
   * {@return the settings that {@link #localAddress}, {@link #connect} and {@link #activate} use}
   * Change them before the queue pair is connected or activated.
   */
  public QueuePairSetup setup() {
    return setup;
  }

  /**
   * {@return the address of the queue pair, which the remote side needs to connect to it, according
   * to the settings of {@link #setup}}
   */
  public QueuePairAddress localAddress() {
    return setup.address();
  }

  /**
   * Connects the queue pair to a remote one: transitions it from RESET or INIT to RTS. The remote
   * side must do the same.
   *
   * @param remote the {@link #localAddress} of the remote queue pair
   */
  public void connect(QueuePairAddress remote) {
    setup.connect(remote);
  }

  /**
   * Activates a queue pair of an unconnected type (UD, SRD, RAW_PACKET, DC_INITIATOR): transitions
   * it from RESET or INIT to RTS; a DC_TARGET to RTR.
   */
  public void activate() {
    setup.activate();
  }

  /**
   * Starts draining the send queue: transitions the queue pair from RTS to SQD (send queue
   * drained), where the device completes the send requests that it has begun and begins no others.
   * Draining continues after this method returns, until {@link QueuePairAttributes#isDraining} of a
   * {@link #query} is false.
   */
  public void startDraining() {
    modify(QueuePairAttributes.builder().state(QueuePairState.SQD).build());
  }

  /**
   * Starts draining the send queue as {@link #startDraining} does, and requests the asynchronous
   * event {@link AsyncEventType#SQ_DRAINED}, which is generated when all send requests that were
   * begun are completed.
   */
  public void startDrainingWithEvent() {
    modify(QueuePairAttributes.builder().state(QueuePairState.SQD).notifyDrained(true).build());
  }

  /**
   * Resumes sending: transitions the queue pair from SQD or SQE to RTS.
   *
   * @throws dev.verbena.VerbsException EINVAL if the send queue is still draining, with devices
   *     that check this
   */
  public void resume() {
    modify(QueuePairAttributes.builder().state(QueuePairState.RTS).build());
  }

  /**
   * Resets the queue pair: transitions it from any state to RESET. All outstanding work requests
   * and their completions are discarded; to get them first, see {@link #failAndDrain}. The queue
   * pair then has another PSN, and chooses its GID again: exchange the {@linkplain #localAddress
   * addresses} again before it is connected.
   *
   * @throws IllegalStateException on an EFA, whose provider does not discard them
   */
  public void reset() {
    modify(QueuePairAttributes.builder().state(QueuePairState.RESET).build());
  }

  /**
   * Transitions the queue pair to ERR: all outstanding work requests complete with {@link
   * CompletionStatus#WR_FLUSH_ERR}.
   */
  public void fail() {
    modify(QueuePairAttributes.builder().state(QueuePairState.ERR).build());
  }

  /**
   * Ends all outstanding work: transitions the queue pair to ERR, as {@link #fail} does, and polls
   * its completion queues until each request that was posted has completed. Then the memory of the
   * requests can be used again, and the queue pair be reset or closed without losing a completion.
   * No other thread may post to the queue pair or poll its completion queues meanwhile.
   *
   * <p>Requests of a shared receive queue are not drained: call this when {@link
   * #isLastWqeReached}, or completions of requests that the queue pair has taken may be discarded.
   *
   * @param limit the maximum time; a device that was lost may never complete its work
   * @param completed is called with each work completion that is polled, also of other queue pairs
   *     that have the same completion queues: the completions, and the index in them
   * @throws RdmaTimeoutException if the limit expires before
   * @throws IllegalStateException if the queue pair is not of type RC or UC, has never been
   *     connected, or its completion queues are not known
   */
  public void failAndDrain(Duration limit, ObjIntConsumer<Completions> completed) {
    new Drain(this, Objects.requireNonNull(completed, "completed")).run(limit);
  }

  /**
   * {@return whether {@link AsyncEventType#QP_LAST_WQE_REACHED} was read, by the program or by this
   * library, since the queue pair was last reset: a queue pair in state ERR takes no more requests
   * of its shared receive queue} The completion of a send request that is posted then follows those
   * of all requests that it took, and it can be closed after that without losing one of them. False
   * while nobody reads events, and with Soft-RoCE before Linux 6.3; read the event before a reset.
   *
   * @see AsyncEvents
   */
  public boolean isLastWqeReached() {
    return transitions.isLastWqeReached();
  }

  @Override
  void happened(AsyncEventType event) {
    transitions.happened(event);
  }

  /**
   * Modifies the queue pair: {@code ibv_modify_qp}. Either all attributes are changed or none.
   *
   * {@snippet :
   * queuePair.modify(QueuePairAttributes.toInit(QueuePairType.UD).port(1).queueKey(0x11).build());
   * queuePair.modify(QueuePairAttributes.toReadyToReceive(QueuePairType.UD).build());
   * queuePair.modify(QueuePairAttributes.toReadyToSend(QueuePairType.UD).sendPsn(0).build());
   * }
   *
   * @param attributes the attributes and their new values
   * @throws IllegalStateException if this thread has a posting open, or if the queue pair is to be
   *     reset and this thread has the cursor of its completion queue open: the call would wait for
   *     their locks forever
   * @throws VerbsException for example EINVAL; the message names the attribute that is missing or
   *     not allowed according to the state table
   */
  public void modify(QueuePairAttributes attributes) {
    requireNoPosting();
    transitions.modify(attributes);
  }

  /**
   * {@return the current state of the queue pair: {@code ibv_query_qp}; of a DC target, which the
   * kernel does not query before RTR, that of its last transition}
   */
  public QueuePairState state() {
    return transitions.state();
  }

  /**
   * Attaches the queue pair to a multicast group: {@code ibv_attach_mcast}. On InfiniBand the group
   * must also be joined, which RDMA CM does. Attaching it again has no effect. Closing the queue
   * pair detaches it.
   *
   * @param group the GID of the group
   * @param lid the LID of the group; 0 on Ethernet
   * @throws IllegalStateException if it is not a UD queue pair
   */
  public void attachMulticast(Gid group, int lid) {
    core.whileOpen(() -> groups.attach(group, lid));
  }

  /**
   * Detaches the queue pair from a multicast group: {@code ibv_detach_mcast}.
   *
   * @param group the GID of the group
   * @param lid the LID of the group; 0 on Ethernet
   * @throws IllegalStateException if it is not a UD queue pair
   */
  public void detachMulticast(Gid group, int lid) {
    core.whileOpen(() -> groups.detach(group, lid));
  }

  /**
   * {@return the options that the provider offers for enhanced connection establishment (ECE), to
   * be sent to the remote side: {@code ibv_query_ece}}
   */
  public EnhancedConnectionEstablishment enhancedConnection() {
    return Ece.get(
        ece -> core.whileOpen(() -> context.verbs().ibv_query_ece(address(), ece)),
        EnhancedConnectionEstablishment::new);
  }

  /**
   * Sets the options for enhanced connection establishment (ECE) that the remote provider offers:
   * {@code ibv_set_ece}. Call it before the transition to RTR.
   *
   * @param options the options of the remote queue pair
   */
  public void enhancedConnection(EnhancedConnectionEstablishment options) {
    Ece.set(
        options.vendor(),
        options.options(),
        ece -> core.whileOpen(() -> context.verbs().ibv_set_ece(address(), ece)));
  }

  /**
   * Returns whether the data of an operation is written in order, so that a program may poll memory
   * instead of completions: {@code ibv_query_qp_data_in_order}.
   *
   * @param opcode a send or write of the remote side, or a local read
   * @return the data that is in order; empty if none is, if the processor may reorder, or if the
   *     provider does not know, which libmlx5 does in state RTS only
   */
  public FlagSet<DataInOrder> dataInOrder(WorkRequestOpcode opcode) {
    int caps = dataInOrder(opcode, rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS());
    // Before rdma-core 46 libmlx5 returns 0 for any flag, and without flags whether all is in
    // order.
    return caps == 0 && dataInOrder(opcode, 0) != 0
        ? FlagSet.of(DataInOrder.class, NativeFlag.mask(DataInOrder.values()))
        : FlagSet.of(DataInOrder.class, caps);
  }

  /**
   * Returns whether the device writes the data of an operation in order, without regard to the
   * processor: {@code ibv_query_qp_data_in_order}.
   *
   * @param opcode a send or write of the remote side, or a local read
   * @return the data that the device writes in order; before rdma-core 60, which cannot tell on
   *     other processors than x86, the result of {@link #dataInOrder(WorkRequestOpcode)}
   */
  public FlagSet<DataInOrder> dataInOrderOfDevice(WorkRequestOpcode opcode) {
    int caps =
        dataInOrder(
            opcode,
            rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS()
                | rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_DEVICE_ONLY());
    return caps == 0 ? dataInOrder(opcode) : FlagSet.of(DataInOrder.class, caps);
  }

  private int dataInOrder(WorkRequestOpcode opcode, int flags) {
    return core.whileOpen(
        () -> context.verbs().ibv_query_qp_data_in_order(address(), opcode.code(), flags));
  }

  /**
   * Limits the rate of the queue pair: {@code ibv_modify_qp_rate_limit}.
   *
   * @param limit the rate limit
   */
  public void limitRate(RateLimit limit) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = ibv_qp_rate_limit_attr.allocate(arena);
      limit.writeTo(attr);
      core.whileOpen(() -> context.verbs().ibv_modify_qp_rate_limit(address(), attr.address()));
    } catch (VerbsException e) {
      throw Explanation.addIfUnsupported(e, context.device() + " does not support packet pacing");
    }
  }

  /**
   * Returns the current attributes of the queue pair: {@code ibv_query_qp}. Attributes that the
   * state does not require are undefined.
   *
   * @return the attributes, without the rate limit, which {@code ibv_query_qp} does not return; of
   *     a DC target those of its transitions
   * @throws IllegalStateException if it is a DC target before state RTR, which the kernel does not
   *     query
   */
  public QueuePairAttributes query() {
    return transitions.query();
  }

  /**
   * {@return selected attributes of the queue pair: {@code ibv_query_qp}}
   *
   * @param wanted the attributes; only these can be read from the result
   */
  public QueuePairAttributes query(QueuePairAttribute... wanted) {
    return transitions.query(Set.of(wanted));
  }

  /**
   * Throws an exception if there is no send queue, as libmlx5 would dereference the null pointer of
   * the missing completion queue.
   */
  void requireSendQueue() {
    if (!sendsItself) {
      throw new IllegalStateException(this + " has no send queue of its own");
    }
  }

  /** Binds a memory window of type 1: {@code ibv_bind_mw}. */
  void bind(MemoryWindow window, MemorySegment bind) {
    if (!calls.isDirect()) {
      context.verbs().ibv_bind_mw(address(), window.address(), bind.address());
      return;
    }
    int errno = calls.ibv_bind_mw(window.address(), bind.address());
    if (errno != 0) {
      throw new VerbsException("ibv_bind_mw", errno);
    }
  }

  /** The device assigns the number of a DC target at the transition to RTR. */
  void readNumber() {
    number = core.whileOpen(() -> ibv_qp.qp_num(Memory.at(address(), ibv_qp.sizeof())));
  }

  /**
   * Throws an exception if this thread has a posting open, as the call would wait for its end
   * forever; ends the posting of a thread that has terminated.
   */
  void requireNoPosting() {
    if (posting != null) {
      if (posting.section().isOpenHere()) {
        throw new IllegalStateException(
            "a posting is open on " + this + ": complete or close it first");
      }
      posting.section().endIfAbandoned();
    }
  }

  /** Destroying or resetting a queue pair takes the locks of its completion queues. */
  void requireNoCursor(String action) {
    core.parents(CompletionQueue.class).forEach(queue -> queue.requireNoCursor(action));
  }

  private void beforeClose() {
    if (posting != null) {
      posting.section().requireEnded();
    }
    requireNoCursor("closing " + this);
  }

  @Override
  public String toString() {
    return transitions.text();
  }
}
