package dev.verbena.cm;

import dev.verbena.internal.QueueMaker;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.life.Core;
import dev.verbena.raw.ibv_comp_channel;
import dev.verbena.raw.ibv_cq;
import dev.verbena.raw.ibv_qp_init_attr;
import dev.verbena.raw.rdma_cm_id;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionWaiter;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairBuilder;
import dev.verbena.verbs.Resource;
import dev.verbena.verbs.SharedReceiveQueue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.LongFunction;

/**
 * The queue pair, completion queues and shared receive queue of an identifier, created by
 * librdmacm, which also makes the state transitions of the queue pair.
 *
 * <p>They are closed with the identifier, or separately: closing the queue pair calls {@code
 * rdma_destroy_qp}, closing the shared receive queue {@code rdma_destroy_srq}.
 */
public final class ConnectionQueues {
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
      Core.of(id.owner()).whileOpen(() -> createWithCompletionQueues(capacity));
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
        adopt(QueuePairCapacity.readFrom(ibv_qp_init_attr.cap(attr)));
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
    capacity.writeTo(ibv_qp_init_attr.cap(attr));
    return attr;
  }

  /** Wraps the queue pair that librdmacm created, if any, with its completion queues. */
  void adopt(QueuePairCapacity capacity) {
    if (!id.hasQueuePair()) {
      return;
    }
    ProtectionDomain domain = home.get();
    List<Resource> parents =
        sharedReceives == null
            ? List.of(id.owner(), domain)
            : List.of(id.owner(), domain, sharedReceives);
    MemorySegment struct = id.struct();
    queuePair =
        QueuePairBuilder.adopt(
            domain,
            capacity,
            new QueueMaker(
                attributes -> rdma_cm_id.qp(struct).address(), qp -> destroyWithCompletionQueues()),
            parents);
    sendCompletions = borrow(rdma_cm_id.send_cq_channel(struct), rdma_cm_id.send_cq(struct));
    receiveCompletions = borrow(rdma_cm_id.recv_cq_channel(struct), rdma_cm_id.recv_cq(struct));
    createWaiters();
  }

  private CompletionQueue borrow(MemorySegment channel, MemorySegment queue) {
    return CompletionQueue.borrow(
        CompletionChannel.borrow(
            id.context(), Memory.at(channel.address(), ibv_comp_channel.sizeof())),
        Memory.at(queue.address(), ibv_cq.sizeof()));
  }

  private void createWaiters() {
    sendWaiter = new CompletionWaiter(sendCompletions, Duration.ZERO);
    receiveWaiter = new CompletionWaiter(receiveCompletions, Duration.ZERO);
  }

  /**
   * Creates the queue pair of the identifier, with two completion queues that share a completion
   * channel, which is one file descriptor: {@code rdma_create_qp} would create two channels. They
   * are closed with the identifier.
   *
   * @param domain a protection domain of the identifier's {@link ConnectionId#context}, for example
   *     its own, {@link ConnectionId#domain}
   * @param capacity the capacity of the queues: at least one request in each direction
   * @throws IllegalArgumentException if the domain is of another context
   * @throws IllegalStateException if the identifier is not bound to a device, or has a queue pair
   */
  public void createQueuePairOnOneChannel(ProtectionDomain domain, QueuePairCapacity capacity) {
    requireRoomForQueuePair();
    Core.requireSame(id.context(), domain, domain.context());
    CompletionChannel channel = id.context().createCompletionChannel();
    Core.of(channel).closeWith(id.owner());
    sendCompletions = create(channel, capacity.sendRequests());
    receiveCompletions = create(channel, capacity.receiveRequests());
    createWaiters();
    QueuePairBuilder builder =
        QueuePair.builder(domain, QueuePairType.RC)
            .sendCompletions(sendCompletions)
            .receiveCompletions(receiveCompletions)
            .capacity(capacity);
    sharedReceiveQueue().ifPresent(builder::sharedReceiveQueue);
    QueuePair _ = createQueuePair(builder);
  }

  private CompletionQueue create(CompletionChannel channel, int entries) {
    Context context = channel.context();
    CompletionQueue queue = context.completionQueue(entries).channel(channel).create();
    Core.of(queue).closeWith(id.owner());
    return queue;
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
          builder.create(
              id.context(),
              id.owner(),
              new QueueMaker(
                  attributes -> {
                    id.call(
                        "creating the queue pair",
                        (rdmacm, pointer) -> rdmacm.rdma_create_qp_ex(pointer, attributes));
                    return rdma_cm_id.qp(id.struct()).address();
                  },
                  qp -> destroyQueuePair()));
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
        SharedReceiveQueue.builder(domain, requests),
        attributes -> (rdmacm, pointer) -> rdmacm.rdma_create_srq(pointer, pd, attributes));
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
        builder, attributes -> (rdmacm, pointer) -> rdmacm.rdma_create_srq_ex(pointer, attributes));
  }

  private SharedReceiveQueue createSharedReceiveQueue(
      SharedReceiveQueue.Builder builder, LongFunction<NativeId.Call> create) {
    synchronized (creation) {
      requireRoomForQueues();
      sharedReceives =
          builder.create(
              id.context(),
              id.owner(),
              new QueueMaker(
                  attributes -> {
                    id.call("creating the shared receive queue", create.apply(attributes));
                    return rdma_cm_id.srq(id.struct()).address();
                  },
                  srq ->
                      id.callClosing(
                          identifier -> id.rdmacm().rdma_destroy_srq(identifier.address()))));
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
   * {@return the completion queue for sends that librdmacm created with the queue pair}
   *
   * @throws IllegalStateException if librdmacm created none
   */
  public CompletionQueue sendCompletions() {
    return made(sendCompletions);
  }

  /**
   * {@return the completion queue for receives that librdmacm created with the queue pair}
   *
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
   * {@return the operations of {@code rdma_verbs.h} on the queue pair}
   *
   * @throws IllegalStateException if librdmacm created no queue pair with completion queues
   */
  public Transfers transfers() {
    CompletionQueue _ = sendCompletions(); // Open, though the creation of the queue pair may fail.
    QueuePair open =
        queuePair().orElseThrow(() -> new IllegalStateException(id + " has no queue pair"));
    return new Transfers(open, sharedReceiveQueue().orElse(null), sendWaiter, receiveWaiter);
  }

  @Override
  public String toString() {
    return "queues of " + id;
  }
}
