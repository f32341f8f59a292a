package dev.verbena.cm;

import dev.verbena.internal.access.VerbsAccess;
import dev.verbena.raw.ibv_qp_init_attr;
import dev.verbena.raw.rdma_cm_id;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionWaiter;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairBuilder;
import dev.verbena.verbs.QueuePairCapacity;
import dev.verbena.verbs.QueuePairType;
import dev.verbena.verbs.Resource;
import dev.verbena.verbs.SharedReceiveQueue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import java.util.function.Function;

/**
 * The queue pair, completion queues and shared receive queue of an identifier, created by
 * librdmacm, which also makes the state transitions of the queue pair.
 *
 * <p>They are closed with the identifier, or separately: closing the queue pair calls {@code
 * rdma_destroy_qp}, closing the shared receive queue {@code rdma_destroy_srq}.
 */
public final class ConnectionQueues {
  private static final VerbsAccess VERBS = VerbsAccess.get();

  private final NativeId id;
  private final HomeDomain home;

  /** Held while queues are created: of two shared receive queues, librdmacm keeps only the last. */
  private final Object creation = new Object();

  private QueuePair queuePair;
  private CompletionQueue sendCompletions;
  private CompletionQueue receiveCompletions;
  private CompletionWaiter sendWaiter;
  private CompletionWaiter receiveWaiter;
  private SharedReceiveQueue sharedReceives;

  ConnectionQueues(NativeId id, HomeDomain home) {
    this.id = id;
    this.home = home;
  }

  /**
   * Creates the queue pair of the identifier, with its completion queues: {@code rdma_create_qp}.
   * librdmacm makes its state transitions.
   *
   * @param capacity the capacity of the queues: at least one request in each direction
   * @return the queue pair, which is closed with the identifier
   * @throws IllegalStateException if the identifier is not bound to a device, or has a queue pair
   */
  public QueuePair createQueuePair(QueuePairCapacity capacity) {
    synchronized (creation) {
      requireRoomForQueuePair();
      // The identifier, which has the completion queues, is not destroyed before they have owners.
      VERBS.whileOpen(id.owner(), () -> createWithCompletionQueues(capacity));
      return queuePair;
    }
  }

  private void createWithCompletionQueues(QueuePairCapacity capacity) {
    long pd = home.get().segment().address();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = attributes(arena, capacity);
      ibv_qp_init_attr.qp_type(attr, rdma_cm_id.qp_type(id.struct()));
      id.call(
          "creating the queue pair",
          (rdmacm, pointer) -> rdmacm.rdma_create_qp(pointer, pd, attr.address()));
      QueuePair before = queuePair;
      try {
        adopt(VERBS.readCapacity(ibv_qp_init_attr.cap(attr)));
      } catch (Throwable t) {
        if (queuePair == before) {
          destroyQueuePair(); // Another thread closes the identifier, for example.
        }
        throw t;
      }
    }
  }

  /**
   * Returns the attributes for librdmacm, which creates the completion queues; their size must not
   * be zero.
   */
  static MemorySegment attributes(Arena arena, QueuePairCapacity capacity) {
    if (capacity.sendRequests() < 1 || capacity.receiveRequests() < 1) {
      throw new IllegalArgumentException(
          "the capacity must be at least one send and one receive request: " + capacity);
    }
    MemorySegment attr = ibv_qp_init_attr.allocate(arena);
    VERBS.write(capacity, ibv_qp_init_attr.cap(attr));
    return attr;
  }

  /** Wraps the queue pair that librdmacm created, if any, with its completion queues. */
  void adopt(QueuePairCapacity capacity) {
    if (!id.hasQueuePair()) {
      return;
    }
    ProtectionDomain domain = home.get();
    Resource[] parents =
        sharedReceives == null
            ? new Resource[] {id.owner(), domain}
            : new Resource[] {id.owner(), domain, sharedReceives};
    MemorySegment struct = id.struct();
    queuePair =
        VERBS.queuePair(
            domain, rdma_cm_id.qp(struct), capacity, this::destroyWithCompletionQueues, parents);
    sendCompletions = borrow(rdma_cm_id.send_cq_channel(struct), rdma_cm_id.send_cq(struct));
    receiveCompletions = borrow(rdma_cm_id.recv_cq_channel(struct), rdma_cm_id.recv_cq(struct));
    createWaiters();
  }

  private CompletionQueue borrow(MemorySegment channel, MemorySegment queue) {
    return VERBS.completionQueue(id.context(), channel, queue);
  }

  private void createWaiters() {
    sendWaiter = new CompletionWaiter(sendCompletions, Duration.ZERO);
    receiveWaiter = new CompletionWaiter(receiveCompletions, Duration.ZERO);
  }

  /**
   * Creates the queue pair of the identifier, with two completion queues that share a completion
   * channel, which is one file descriptor: {@code rdma_create_qp} would create two channels. They
   * are closed with the identifier.
   */
  void createQueuePairOnOneChannel(QueuePairCapacity capacity) {
    requireRoomForQueuePair();
    ProtectionDomain domain = home.get();
    Context context = domain.context();
    CompletionChannel channel = context.createCompletionChannel();
    belongToIdentifier(channel, context);
    sendCompletions = create(channel, capacity.sendRequests());
    receiveCompletions = create(channel, capacity.receiveRequests());
    createWaiters();
    QueuePairBuilder builder =
        domain
            .queuePair(QueuePairType.RC)
            .sendCompletions(sendCompletions)
            .receiveCompletions(receiveCompletions)
            .capacity(capacity);
    sharedReceiveQueue().ifPresent(builder::sharedReceiveQueue);
    QueuePair _ = createQueuePair(builder);
  }

  private CompletionQueue create(CompletionChannel channel, int entries) {
    Context context = channel.context();
    CompletionQueue queue = context.completionQueue(entries).channel(channel).create();
    belongToIdentifier(queue, context, channel);
    return queue;
  }

  /** Makes an object, which is closed with its parents, be closed with the identifier, too. */
  void belongToIdentifier(Resource made, Resource... parents) {
    Resource[] all = Arrays.copyOf(parents, parents.length + 1);
    all[parents.length] = id.owner();
    try {
      VERBS.moveTo(made, all);
    } catch (IllegalStateException e) {
      made.close();
      throw e;
    }
  }

  /**
   * Creates the queue pair of the identifier with the settings of a builder: {@code
   * rdma_create_qp_ex}.
   *
   * @param builder the settings, with a protection domain and completion queues of the identifier's
   *     {@link ConnectionId#context}
   * @return the queue pair, which is closed with the identifier
   * @throws IllegalArgumentException if the builder is of another context
   * @throws IllegalStateException if the identifier is not bound to a device, or has a queue pair
   */
  public QueuePair createQueuePair(QueuePairBuilder builder) {
    synchronized (creation) {
      requireRoomForQueuePair();
      home.get(); // librdmacm replaces it.
      queuePair =
          VERBS.create(
              builder,
              id.context(),
              id.owner(),
              new VerbsAccess.Maker() {
                @Override
                public MemorySegment create(MemorySegment attributes) {
                  id.call(
                      "creating the queue pair",
                      (rdmacm, pointer) -> rdmacm.rdma_create_qp_ex(pointer, attributes.address()));
                  return rdma_cm_id.qp(id.struct());
                }

                @Override
                public void destroy() {
                  destroyQueuePair();
                }
              });
      return queuePair;
    }
  }

  private void destroyWithCompletionQueues() {
    // ibv_destroy_cq waits until all events of the queue are acknowledged.
    release(sendCompletions);
    release(receiveCompletions);
    destroyQueuePair();
  }

  private void destroyQueuePair() {
    id.callClosing(
        identifier -> {
          id.groups().leaveAll();
          if (rdma_cm_id.qp(identifier).address() != 0) { // A failed adoption destroys it itself.
            id.rdmacm().rdma_destroy_qp(identifier.address());
          }
          home.restore(identifier);
        });
  }

  private static void release(CompletionQueue borrowed) {
    if (borrowed != null) {
      borrowed.close();
      borrowed.channel().ifPresent(CompletionChannel::close);
    }
  }

  /**
   * Creates the shared receive queue of the identifier, for its queue pair: {@code
   * rdma_create_srq}.
   *
   * @param requests the capacity in receive requests
   * @return the queue, which is closed with the identifier
   * @throws IllegalStateException if the identifier has no device, or already has queues
   */
  public SharedReceiveQueue createSharedReceiveQueue(int requests) {
    ProtectionDomain domain = home.get();
    long pd = domain.segment().address();
    return createSharedReceiveQueue(
        domain.sharedReceiveQueue(requests),
        attributes ->
            (rdmacm, pointer) -> rdmacm.rdma_create_srq(pointer, pd, attributes.address()));
  }

  /**
   * Creates the shared receive queue of the identifier with the settings of a builder: {@code
   * rdma_create_srq_ex}.
   *
   * @param builder the settings, with a protection domain of the identifier's {@link
   *     ConnectionId#context}
   * @return the queue, which is closed with the identifier
   * @throws IllegalArgumentException if the builder is of another context
   * @throws IllegalStateException if the identifier has no device, or already has queues
   */
  public SharedReceiveQueue createSharedReceiveQueue(SharedReceiveQueue.Builder builder) {
    return createSharedReceiveQueue(
        builder,
        attributes ->
            (rdmacm, pointer) -> rdmacm.rdma_create_srq_ex(pointer, attributes.address()));
  }

  private SharedReceiveQueue createSharedReceiveQueue(
      SharedReceiveQueue.Builder builder, Function<MemorySegment, NativeId.Call> create) {
    synchronized (creation) {
      requireRoomForQueues();
      sharedReceives =
          VERBS.create(
              builder,
              id.context(),
              id.owner(),
              new VerbsAccess.Maker() {
                @Override
                public MemorySegment create(MemorySegment attributes) {
                  id.call("creating the shared receive queue", create.apply(attributes));
                  return rdma_cm_id.srq(id.struct());
                }

                @Override
                public void destroy() {
                  id.callClosing(identifier -> id.rdmacm().rdma_destroy_srq(identifier.address()));
                }
              });
      return sharedReceives;
    }
  }

  private void requireRoomForQueues() {
    requireRoomForQueuePair();
    if (rdma_cm_id.srq(id.struct()).address() != 0) {
      throw new IllegalStateException(id + " already has a shared receive queue");
    }
  }

  private void requireRoomForQueuePair() {
    id.requireDevice();
    if (id.hasQueuePair()) {
      throw new IllegalStateException(id + " already has a queue pair");
    }
  }

  /** {@return the queue pair of the identifier that was created last, or empty if there is none} */
  public Optional<QueuePair> queuePair() {
    return Optional.ofNullable(queuePair).filter(QueuePair::isOpen);
  }

  /**
   * {@return the shared receive queue of the identifier that was created last, or empty if there is
   * none}
   */
  public Optional<SharedReceiveQueue> sharedReceiveQueue() {
    return Optional.ofNullable(sharedReceives).filter(SharedReceiveQueue::isOpen);
  }

  /**
   * Returns the completion queue for sends that librdmacm created with the queue pair.
   *
   * @return the queue
   * @throws IllegalStateException if librdmacm created none
   */
  public CompletionQueue sendCompletions() {
    return made(sendCompletions);
  }

  /**
   * Returns the completion queue for receives that librdmacm created with the queue pair.
   *
   * @return the queue
   * @throws IllegalStateException if librdmacm created none
   */
  public CompletionQueue receiveCompletions() {
    return made(receiveCompletions);
  }

  private CompletionQueue made(CompletionQueue queue) {
    if (queue == null || !queue.isOpen()) {
      throw new IllegalStateException(
          id + " has no completion queues created by librdmacm: use those of the queue pair");
    }
    return queue;
  }

  /**
   * Returns the operations of {@code rdma_verbs.h} on the queue pair.
   *
   * @return the operations
   * @throws IllegalStateException if librdmacm created no queue pair with completion queues
   */
  public Transfers transfers() {
    CompletionQueue _ = sendCompletions(); // Of a queue pair that is open.
    return new Transfers(queuePair, sharedReceiveQueue().orElse(null), sendWaiter, receiveWaiter);
  }
}
