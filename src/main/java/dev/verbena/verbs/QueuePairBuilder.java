package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.internal.Segments;
import dev.verbena.raw.ibv_qp_init_attr_ex;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.Set;
import java.util.stream.Stream;

/** What can be asked for when a queue pair is made. */
public final class QueuePairBuilder {
  private final Context context;
  private final ProtectionDomain domain;
  private final XrcDomain xrcDomain;
  private final QueuePairType type;
  private CompletionQueue sendCompletions;
  private CompletionQueue receiveCompletions;
  private SharedReceiveQueue sharedReceiveQueue;
  private QueuePairCapacity capacity = QueuePairCapacity.of(1);
  private boolean signalAll;
  private Set<SendOperation> sendOperations = Set.of();
  private Set<QueuePairFlag> flags = Set.of();
  private OptionalInt sourceNumber = OptionalInt.empty();
  private OptionalInt maxTsoHeader = OptionalInt.empty();
  private ReceiveIndirectionTable table;
  private ReceiveHash hash;

  QueuePairBuilder(ProtectionDomain domain, QueuePairType type) {
    if (type == QueuePairType.XRC_RECV) {
      throw new IllegalArgumentException(
          "the receiving end of XRC is made on an XRC domain: XrcDomain.createQueuePair()");
    }
    this.context = domain.context();
    this.domain = domain;
    this.xrcDomain = null;
    this.type = type;
  }

  QueuePairBuilder(XrcDomain domain) {
    this.context = domain.context();
    this.domain = null;
    this.xrcDomain = domain;
    this.type = QueuePairType.XRC_RECV;
  }

  /**
   * Chooses one completion queue for sends and receives.
   *
   * @param queue a queue of the same context
   * @return this
   */
  public QueuePairBuilder completions(CompletionQueue queue) {
    return sendCompletions(queue).receiveCompletions(queue);
  }

  /**
   * Chooses the completion queue for sends.
   *
   * @param queue a queue of the same context
   * @return this
   */
  public QueuePairBuilder sendCompletions(CompletionQueue queue) {
    this.sendCompletions = ofSameContext(queue);
    return this;
  }

  /**
   * Chooses the completion queue for receives.
   *
   * @param queue a queue of the same context
   * @return this
   */
  public QueuePairBuilder receiveCompletions(CompletionQueue queue) {
    this.receiveCompletions = ofSameContext(queue);
    return this;
  }

  private CompletionQueue ofSameContext(CompletionQueue queue) {
    if (queue.context() != context) {
      throw new IllegalArgumentException(queue + " is not of " + context);
    }
    return queue;
  }

  /**
   * Takes receives from a queue that several queue pairs share, instead of an own one.
   *
   * @param queue a queue of the same context
   * @return this
   */
  public QueuePairBuilder sharedReceiveQueue(SharedReceiveQueue queue) {
    if (queue.context() != context) {
      throw new IllegalArgumentException(queue + " is not of " + context);
    }
    this.sharedReceiveQueue = queue;
    return this;
  }

  /**
   * Says what will be posted through the {@code ibv_wr_*} interface, which only queue pairs have
   * that ask for it here.
   *
   * @param operations what to support
   * @return this
   */
  public QueuePairBuilder sendOperations(SendOperation... operations) {
    this.sendOperations = Set.of(operations);
    return this;
  }

  /**
   * Asks for something special.
   *
   * @param flags what
   * @return this
   */
  public QueuePairBuilder flags(QueuePairFlag... flags) {
    this.flags = Set.of(flags);
    return this;
  }

  /**
   * Lets datagrams name another queue pair as their source: {@code IBV_QP_CREATE_SOURCE_QPN}.
   *
   * @param number the number that peers will see
   * @return this
   */
  public QueuePairBuilder sourceNumber(int number) {
    this.sourceNumber = OptionalInt.of(Ranges.bits(number, 24, "a QPN"));
    return this;
  }

  /**
   * Spreads what is received over work queues, instead of an own receive queue.
   *
   * @param table the work queues
   * @param hash what chooses among them
   * @return this
   */
  public QueuePairBuilder spread(ReceiveIndirectionTable table, ReceiveHash hash) {
    if (table.context() != context) {
      throw new IllegalArgumentException(table + " is not of " + context);
    }
    this.table = table;
    this.hash = Objects.requireNonNull(hash, "hash");
    return this;
  }

  /**
   * Makes room for the headers of TCP segments that the device will cut.
   *
   * @param size the longest header in bytes
   * @return this
   */
  public QueuePairBuilder maxTsoHeader(int size) {
    this.maxTsoHeader = OptionalInt.of(Ranges.bits(size, Short.SIZE, "the size of a header"));
    return this;
  }

  /**
   * How much the queues must hold; by default one request of one entry each.
   *
   * @param capacity what is asked for; the queue pair may hold more
   * @return this
   */
  public QueuePairBuilder capacity(QueuePairCapacity capacity) {
    this.capacity = Objects.requireNonNull(capacity, "capacity");
    return this;
  }

  /**
   * Makes every send complete, flagged or not: {@code sq_sig_all}.
   *
   * @return this
   */
  public QueuePairBuilder signalAll() {
    this.signalAll = true;
    return this;
  }

  /**
   * Makes the queue pair: {@code ibv_create_qp}, or {@code ibv_create_qp_ex} if something is asked
   * for that only that has.
   *
   * @return a queue pair in state RESET, to be closed
   * @throws IllegalStateException if a completion queue is missing
   * @throws VerbsException if the device refuses, naming the limits that were passed
   */
  public QueuePair create() {
    requireCompletionQueues();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = ibv_qp_init_attr_ex.allocate(arena);
      writeTo(attr, arena);
      return Resource.make(
          parents(),
          () -> {
            long qp = context.verbs().ibv_create_qp_ex(context.address(), attr.address());
            return made(attr, qp, () -> context.verbs().ibv_destroy_qp(qp));
          });
    } catch (VerbsException e) {
      throw CapacityFailure.explain(e, context, type, capacity);
    }
  }

  /**
   * Makes the queue pair with C code elsewhere, such as librdmacm's.
   *
   * @param owner what the queue pair belongs to besides its domain and queues
   * @param maker makes the queue pair and gives it back
   * @return a queue pair, to be closed
   * @throws IllegalStateException if a completion queue is missing
   */
  public QueuePair create(Resource owner, Maker maker) {
    requireCompletionQueues();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = ibv_qp_init_attr_ex.allocate(arena);
      writeTo(attr, arena);
      List<Resource> owners = new ArrayList<>(parents());
      owners.add(owner);
      return Resource.make(
          owners, () -> made(attr, Segments.object(maker.create(attr), "ibv_qp"), maker::destroy));
    }
  }

  private QueuePair made(MemorySegment attr, long address, Runnable release) {
    QueuePairCapacity real = QueuePairCapacity.readFrom(ibv_qp_init_attr_ex.cap(attr));
    CompletionQueue ofSends = sendCompletions;
    CompletionQueue ofReceives = sharedReceiveQueue == null ? receiveCompletions : null;
    int sends = capacity.sendRequests();
    int receives = capacity.receiveRequests();
    Runnable releaseAndForget =
        () -> {
          release.run();
          expect(ofSends, null, -sends);
          expect(ofReceives, null, -receives);
        };
    QueuePair queuePair =
        new QueuePair(
            new QueuePair.Made(
                context, domain, address, real, sendOperations, table != null, releaseAndForget));
    expect(ofSends, queuePair, sends);
    expect(ofReceives, queuePair, receives);
    return queuePair;
  }

  private static void expect(CompletionQueue queue, QueuePair queuePair, int requests) {
    if (queue != null) {
      queue.expect(queuePair, requests);
    }
  }

  private void requireCompletionQueues() {
    if (type == QueuePairType.XRC_RECV || table != null) {
      return; // Its completions go to the queues of the XRC SRQs, or of the work queues.
    }
    if (sendCompletions == null) {
      throw new IllegalStateException("a queue pair needs a completion queue for sends");
    }
    if (receiveCompletions == null && type != QueuePairType.XRC_SEND) {
      throw new IllegalStateException("a queue pair needs a completion queue for receives");
    }
  }

  private void writeTo(MemorySegment attr, Arena arena) {
    ibv_qp_init_attr_ex.send_cq(attr, segment(sendCompletions));
    ibv_qp_init_attr_ex.recv_cq(attr, segment(receiveCompletions));
    ibv_qp_init_attr_ex.srq(attr, segment(sharedReceiveQueue));
    ibv_qp_init_attr_ex.qp_type(attr, type.code());
    ibv_qp_init_attr_ex.sq_sig_all(attr, signalAll ? 1 : 0);
    capacity.writeTo(ibv_qp_init_attr_ex.cap(attr));
    int mask = 0;
    if (domain != null) {
      mask |= rdma_h.IBV_QP_INIT_ATTR_PD();
      ibv_qp_init_attr_ex.pd(attr, domain.segment());
    }
    if (xrcDomain != null) {
      mask |= rdma_h.IBV_QP_INIT_ATTR_XRCD();
      ibv_qp_init_attr_ex.xrcd(attr, xrcDomain.segment());
    }
    if (!sendOperations.isEmpty()) {
      mask |= rdma_h.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS();
      ibv_qp_init_attr_ex.send_ops_flags(attr, Flags.mask(sendOperations));
    }
    int createFlags = (int) Flags.mask(flags);
    if (sourceNumber.isPresent()) {
      createFlags |= rdma_h.IBV_QP_CREATE_SOURCE_QPN();
      ibv_qp_init_attr_ex.source_qpn(attr, sourceNumber.getAsInt());
    }
    if (createFlags != 0) {
      mask |= rdma_h.IBV_QP_INIT_ATTR_CREATE_FLAGS();
      ibv_qp_init_attr_ex.create_flags(attr, createFlags);
    }
    if (maxTsoHeader.isPresent()) {
      mask |= rdma_h.IBV_QP_INIT_ATTR_MAX_TSO_HEADER();
      ibv_qp_init_attr_ex.max_tso_header(attr, (short) maxTsoHeader.getAsInt());
    }
    if (table != null) {
      mask |= rdma_h.IBV_QP_INIT_ATTR_IND_TABLE() | rdma_h.IBV_QP_INIT_ATTR_RX_HASH();
      ibv_qp_init_attr_ex.rwq_ind_tbl(attr, table.segment());
      hash.writeTo(ibv_qp_init_attr_ex.rx_hash_conf(attr), arena);
    }
    ibv_qp_init_attr_ex.comp_mask(attr, mask);
  }

  private static MemorySegment segment(Resource resource) {
    return resource == null ? MemorySegment.NULL : resource.segment();
  }

  private List<Resource> parents() {
    return Stream.<Resource>of(
            domain, xrcDomain, sendCompletions, receiveCompletions, sharedReceiveQueue, table)
        .filter(Objects::nonNull)
        .distinct()
        .toList();
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
}
