package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.NativeFlag;
import dev.verbena.VerbsException;
import dev.verbena.attributes.DeviceAttributes;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.QueueMaker;
import dev.verbena.internal.Ranges;
import dev.verbena.internal.calls.DirectQueues;
import dev.verbena.internal.foreign.AfterFailure;
import dev.verbena.internal.life.Core;
import dev.verbena.raw.ibv_qp_init_attr_ex;
import dev.verbena.raw.rdma_h;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairFlag;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.ReceiveHash;
import dev.verbena.values.SendOperation;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.StringJoiner;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A builder of a queue pair. Get one with {@link QueuePair#builder(ProtectionDomain,
 * QueuePairType)}.
 *
 * {@snippet :
 * QueuePair queuePair =
 *     QueuePair.builder(pd, QueuePairType.RC)
 *         .completions(completionQueue)
 *         .capacity(capacity)
 *         .create();
 * }
 *
 * <p>A completion queue is required, all other settings have defaults. A builder can create several
 * queue pairs. It has no C object and need not be closed; one thread uses it at a time. See {@code
 * ibv_create_qp(3)} and {@code ibv_create_qp_ex(3)}.
 */
public final class QueuePairBuilder {
  private final Context context;
  private final @Nullable ProtectionDomain domain;
  private final @Nullable XrcDomain xrcDomain;
  private final QueuePairType type;
  private QueueMaker maker;
  private @Nullable CompletionQueue sendCompletions;
  private @Nullable CompletionQueue receiveCompletions;
  private @Nullable SharedReceiveQueue sharedReceiveQueue;
  private QueuePairCapacity capacity = QueuePairCapacity.of(1);
  private boolean signalAll;
  private Set<SendOperation> sendOperations = Set.of();
  private Set<QueuePairFlag> flags = Set.of();
  private OptionalInt sourceNumber = OptionalInt.empty();
  private OptionalInt maxTsoHeader = OptionalInt.empty();
  private @Nullable ReceiveIndirectionTable table;
  private @Nullable ReceiveHash hash;

  QueuePairBuilder(ProtectionDomain domain, QueuePairType type) {
    this(domain, null, type);
    if (type == QueuePairType.XRC_RECV) {
      throw new IllegalArgumentException(
          "XRC_RECV queue pairs are created on an XRC domain: QueuePair.builder(xrcDomain)");
    }
    if (type == QueuePairType.SRD) {
      throw new IllegalArgumentException(
          "SRD queue pairs are created by libefa: EfaDevice.queuePair()");
    }
    if (type.isDynamicallyConnected()) {
      throw new IllegalArgumentException(
          type + " queue pairs are created by libmlx5: Mlx5Device.dcInitiator() and dcTarget()");
    }
  }

  QueuePairBuilder(XrcDomain domain) {
    this(null, domain, QueuePairType.XRC_RECV);
  }

  private QueuePairBuilder(
      @Nullable ProtectionDomain domain, @Nullable XrcDomain xrcDomain, QueuePairType type) {
    this.context = domain == null ? xrcDomain.context() : domain.context();
    this.domain = domain;
    this.xrcDomain = xrcDomain;
    this.type = type;
    this.maker =
        new QueueMaker(
            attr -> context.verbs().ibv_create_qp_ex(context.address(), attr),
            context.verbs()::ibv_destroy_qp);
  }

  /**
   * {@return a builder of a queue pair that a function of a provider library creates}
   *
   * @param domain the protection domain
   * @param type the transport service
   * @param maker creates and destroys the queue pair
   * @hidden
   */
  @SuppressWarnings({"exports", "InvalidBlockTag"}) // Programs cannot make the argument.
  public static QueuePairBuilder of(ProtectionDomain domain, QueuePairType type, QueueMaker maker) {
    QueuePairBuilder builder = new QueuePairBuilder(domain, null, type);
    builder.maker = maker;
    return builder;
  }

  /**
   * Returns a queue pair that C code created, for example librdmacm, and that another function
   * destroys, also if this fails.
   *
   * @param domain the protection domain of the queue pair
   * @param capacity the capacity of its queues
   * @param maker returns the {@code struct ibv_qp}, and destroys it
   * @param parents the objects that must be closed after the queue pair
   * @return the queue pair, to be closed
   * @hidden
   */
  @SuppressWarnings({"exports", "InvalidBlockTag"}) // Programs cannot make the argument.
  public static QueuePair adopt(
      ProtectionDomain domain,
      QueuePairCapacity capacity,
      QueueMaker maker,
      List<Resource> parents) {
    return Core.adopt(
        parents,
        maker.creation().applyAsLong(0),
        maker.destruction(),
        core -> new QueuePair(core, domain.context(), domain, capacity));
  }

  /**
   * Sets one completion queue for send and receive requests: {@code send_cq} and {@code recv_cq}.
   *
   * @param queue a completion queue of the same context
   * @return this
   */
  public QueuePairBuilder completions(CompletionQueue queue) {
    return sendCompletions(queue).receiveCompletions(queue);
  }

  /**
   * Sets the completion queue of the send requests: {@code send_cq}.
   *
   * @param queue a completion queue of the same context
   * @return this
   */
  public QueuePairBuilder sendCompletions(CompletionQueue queue) {
    requireQueues();
    this.sendCompletions = ofSameContext(queue);
    return this;
  }

  /**
   * Sets the completion queue of the receive requests: {@code recv_cq}.
   *
   * @param queue a completion queue of the same context
   * @return this
   */
  public QueuePairBuilder receiveCompletions(CompletionQueue queue) {
    requireQueues();
    this.receiveCompletions = ofSameContext(queue);
    return this;
  }

  private CompletionQueue ofSameContext(CompletionQueue queue) {
    Core.requireSame(context, queue, queue.context());
    return queue;
  }

  /** Throws for settings that XRC_RECV does not have, which would otherwise have no effect. */
  private void requireQueues() {
    if (type == QueuePairType.XRC_RECV) {
      throw new IllegalArgumentException(
          "an XRC_RECV queue pair has no send and receive queue to set: senders name a shared"
              + " receive queue of the XRC domain");
    }
  }

  /**
   * Sets a shared receive queue, which is used instead of a receive queue of the queue pair: {@code
   * srq}.
   *
   * @param queue a shared receive queue of the same context
   * @return this
   */
  public QueuePairBuilder sharedReceiveQueue(SharedReceiveQueue queue) {
    requireQueues();
    if (type == QueuePairType.DC_INITIATOR) {
      throw new IllegalArgumentException("a DC initiator receives no messages, a DC target does");
    }
    Core.requireSame(context, queue, queue.context());
    this.sharedReceiveQueue = queue;
    return this;
  }

  /**
   * Sets the operations that can be posted through the {@code ibv_wr_*} interface: {@code
   * send_ops_flags}. The default is none; for SRD and DC initiators all that the device has.
   *
   * @param operations the operations; for SRD and DC initiators at least one
   * @return this
   */
  public QueuePairBuilder sendOperations(SendOperation... operations) {
    requireQueues();
    if (type.isPostedByBuilders() && operations.length == 0) {
      throw new IllegalArgumentException(
          "a queue pair of type "
              + type
              + " posts through the ibv_wr_* interface only: name at least one operation");
    }
    if (type == QueuePairType.DC_TARGET && operations.length > 0) {
      throw new IllegalArgumentException("a DC target has no send queue, a DC initiator has one");
    }
    this.sendOperations = Set.of(operations);
    return this;
  }

  /**
   * Sets creation flags: {@code create_flags}.
   *
   * @param flags the flags
   * @return this
   */
  public QueuePairBuilder flags(QueuePairFlag... flags) {
    this.flags = Set.of(flags);
    return this;
  }

  /**
   * Sets the source QPN of datagrams to that of another queue pair: {@code
   * IBV_QP_CREATE_SOURCE_QPN}.
   *
   * @param number the QPN that the remote side receives
   * @return this
   */
  public QueuePairBuilder sourceNumber(int number) {
    requireQueues();
    this.sourceNumber = OptionalInt.of(Ranges.bits(number, 24, "a QPN"));
    return this;
  }

  /**
   * Distributes received packets over work queues (receive side scaling, RSS), which are used
   * instead of a receive queue of the queue pair.
   *
   * @param table the indirection table with the work queues
   * @param hash the hash function and the fields it uses
   * @return this
   */
  public QueuePairBuilder receiveSideScaling(ReceiveIndirectionTable table, ReceiveHash hash) {
    requireQueues();
    Core.requireSame(context, table, table.context());
    this.table = table;
    this.hash = Objects.requireNonNull(hash, "hash");
    return this;
  }

  /**
   * Sets the maximum size of the headers of TCP segmentation offload (TSO): {@code max_tso_header}.
   *
   * @param size the size in bytes
   * @return this
   */
  public QueuePairBuilder maxTsoHeader(int size) {
    requireQueues();
    this.maxTsoHeader = OptionalInt.of(Ranges.bits(size, Short.SIZE, "the size of a header"));
    return this;
  }

  /**
   * Sets the minimum capacity of the queues. The default is one request with one SGE each.
   *
   * @param capacity the capacity; that of the queue pair may be larger
   * @return this
   */
  public QueuePairBuilder capacity(QueuePairCapacity capacity) {
    requireQueues();
    this.capacity = Objects.requireNonNull(capacity, "capacity");
    return this;
  }

  /**
   * Makes every send request signaled: {@code sq_sig_all}.
   *
   * @return this
   */
  public QueuePairBuilder signalAll() {
    requireQueues();
    this.signalAll = true;
    return this;
  }

  /**
   * Creates the queue pair: {@code ibv_create_qp}, or {@code ibv_create_qp_ex} if an option
   * requires it.
   *
   * @return a queue pair in state RESET, to be closed
   * @throws IllegalStateException if a completion queue is missing, or the shared receive queue of
   *     a DC target
   * @throws VerbsException if it cannot be created; the message names the limits that were exceeded
   */
  public QueuePair create() {
    requireCompletionQueues();
    try {
      return create(parents(), maker);
    } catch (VerbsException e) {
      throw explained(e);
    }
  }

  /** Adds the likely cause, as C only returns EINVAL or ENOMEM. */
  private VerbsException explained(VerbsException failure) {
    String asked = "a queue pair of type " + type + " on " + context.device();
    return Explanation.add(
        failure,
        switch (failure.errno()) {
          case Errno.EOPNOTSUPP, Errno.ENOSYS -> asked + " is not supported";
          case Errno.EPERM -> asked + " requires the capability CAP_NET_RAW";
          case Errno.EINVAL, Errno.ENOMEM -> asked + ": " + excess(requested());
          default -> asked;
        });
  }

  private String excess(QueuePairCapacity asked) {
    DeviceAttributes device = context.deviceAttributes();
    StringJoiner faults = new StringJoiner(", ");
    atMost(faults, "send requests", asked.sendRequests(), device.maxQueuePairRequests());
    atMost(faults, "receive requests", asked.receiveRequests(), device.maxQueuePairRequests());
    atMost(faults, "send SGEs", asked.sendSges(), device.maxSges());
    atMost(faults, "receive SGEs", asked.receiveSges(), device.maxSges());
    return faults.length() == 0
        ? "the type is not supported, or " + asked + " exceeds the device in total"
        : "more than the maximum of the device: " + faults;
  }

  private static void atMost(StringJoiner faults, String what, int asked, int limit) {
    if (asked > limit) {
      faults.add("%d %s of %d".formatted(asked, what, limit));
    }
  }

  /**
   * Creates the queue pair with another C function, for example that of librdmacm.
   *
   * @param on the context that the function creates the queue pair on
   * @param owner an object that must be closed after the queue pair, besides its domain and
   *     completion queues
   * @param maker creates and destroys the queue pair
   * @return a queue pair, to be closed
   * @throws IllegalStateException if a completion queue is missing
   * @hidden
   */
  @SuppressWarnings({"exports", "InvalidBlockTag"}) // Programs cannot make the argument.
  public QueuePair create(Context on, Resource owner, QueueMaker maker) {
    Core.requireSame(on, "a builder of a queue pair of " + context, context);
    requireCompletionQueues();
    List<Resource> owners = new ArrayList<>(parents());
    owners.add(owner);
    return create(owners, maker);
  }

  private QueuePair create(List<Resource> owners, QueueMaker by) {
    try {
      return create(owners, by, directObstacle());
    } catch (DirectChoice.TakenBackException e) {
      return create(owners, by, Optional.of(e.getMessage()));
    }
  }

  private QueuePair create(List<Resource> owners, QueueMaker by, Optional<String> obstacle) {
    DirectChoice choice =
        new DirectChoice(context, sendQueue(), receiveQueue(), sharedReceiveQueue, obstacle);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = ibv_qp_init_attr_ex.allocate(arena);
      writeTo(attr, arena);
      return Core.make(
          owners,
          () -> created(attr, by, choice),
          by.destruction(),
          core -> made(attr, core, choice));
    } catch (Throwable t) {
      AfterFailure.close(t, choice::close); // There may have been no memory to do so before.
      throw t;
    }
  }

  private long created(MemorySegment attr, QueueMaker by, DirectChoice choice) {
    try {
      if (domain != null) {
        ibv_qp_init_attr_ex.pd(attr, choice.domain(domain));
      }
      return by.creation().applyAsLong(attr.address());
    } catch (Throwable t) {
      AfterFailure.close(t, choice::close); // Before the domain can be closed.
      throw t;
    }
  }

  private QueuePair made(MemorySegment attr, Core core, DirectChoice choice) {
    core.wrapDestruction(
        destroy -> {
          destroy.run();
          choice.close();
        });
    QueuePairCapacity real = QueuePairCapacity.readFrom(ibv_qp_init_attr_ex.cap(attr));
    CompletionQueue ofSends = sendQueue();
    CompletionQueue ofReceives = sharedReceiveQueue == null ? receiveQueue() : null;
    boolean isOneQueue = Objects.equals(ofSends, ofReceives);
    int receives = isOneQueue ? 0 : requested().receiveRequests();
    int sends = requested().sendRequests() + (isOneQueue ? requested().receiveRequests() : 0);
    QueuePair queuePair =
        new QueuePair(
            core,
            context,
            domain,
            type,
            real,
            sendOperations,
            table != null,
            choice.calls(core.address(), shape(real, choice)));
    core.wrapDestruction(
        destroy -> {
          destroy.run();
          expect(ofSends, null, -sends);
          expect(ofReceives, null, -receives);
        });
    expect(ofSends, queuePair, sends);
    expect(ofReceives, queuePair, receives);
    return queuePair;
  }

  private DirectQueues.Shape shape(QueuePairCapacity real, DirectChoice choice) {
    return new DirectQueues.Shape(
        type.code(),
        signalAll,
        real.sendRequests(),
        real.sendSges(),
        real.maxInlineData(),
        choice.ownsRegister());
  }

  /** Returns why the queue pair itself cannot be direct; empty if it can. */
  private Optional<String> directObstacle() {
    boolean hasType =
        type == QueuePairType.RC || type == QueuePairType.UC || type == QueuePairType.UD;
    if (!hasType) {
      return Optional.of("its type is " + type + ", not RC, UC or UD");
    }
    if (!sendOperations.isEmpty()) {
      return Optional.of("it has sendOperations, which the provider posts");
    }
    if (table != null) {
      return Optional.of("it distributes packets over work queues");
    }
    return flags.isEmpty() && sourceNumber.isEmpty() && maxTsoHeader.isEmpty()
        ? Optional.empty()
        : Optional.of("it has creation flags, a source QPN or TSO");
  }

  private static void expect(CompletionQueue queue, QueuePair queuePair, int requests) {
    if (queue != null) {
      queue.expect(queuePair, requests);
    }
  }

  private void requireCompletionQueues() {
    if (type == QueuePairType.XRC_RECV || table != null) {
      return; // The completion queues are those of the XRC SRQs, or of the work queues.
    }
    if (sendQueue() == null && type != QueuePairType.DC_TARGET) {
      throw new IllegalStateException(
          "no completion queue for send requests: call completions or sendCompletions");
    }
    if (receiveQueue() == null && type != QueuePairType.XRC_SEND) {
      throw new IllegalStateException(
          "no completion queue for receive requests: call completions or receiveCompletions");
    }
    if (type == QueuePairType.DC_TARGET && sharedReceiveQueue == null) {
      throw new IllegalStateException(
          "a DC target receives by a shared receive queue: call sharedReceiveQueue");
    }
  }

  /** The kernel requires both completion queues, also where one is not used. */
  private @Nullable CompletionQueue sendQueue() {
    return type == QueuePairType.DC_TARGET ? receiveCompletions : sendCompletions;
  }

  private @Nullable CompletionQueue receiveQueue() {
    return type == QueuePairType.DC_INITIATOR ? sendCompletions : receiveCompletions;
  }

  /** Without queues that there are not: a kernel refuses receives of a DC initiator and of RSS. */
  private QueuePairCapacity requested() {
    return switch (type) {
      case DC_INITIATOR -> capacity.withReceiveRequests(0).withReceiveSges(0);
      case DC_TARGET, XRC_RECV -> QueuePairCapacity.NONE;
      default -> table == null ? capacity : QueuePairCapacity.NONE;
    };
  }

  private void writeTo(MemorySegment attr, Arena arena) {
    ibv_qp_init_attr_ex.send_cq(attr, segment(sendQueue()));
    ibv_qp_init_attr_ex.recv_cq(attr, segment(receiveQueue()));
    ibv_qp_init_attr_ex.srq(attr, segment(sharedReceiveQueue));
    ibv_qp_init_attr_ex.qp_type(attr, type.code());
    ibv_qp_init_attr_ex.sq_sig_all(attr, signalAll ? 1 : 0);
    requested().writeTo(ibv_qp_init_attr_ex.cap(attr));
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
      ibv_qp_init_attr_ex.send_ops_flags(attr, NativeFlag.mask(sendOperations));
    }
    int createFlags = (int) NativeFlag.mask(flags);
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
            domain, xrcDomain, sendQueue(), receiveQueue(), sharedReceiveQueue, table)
        .filter(Objects::nonNull)
        .distinct()
        .toList();
  }
}
