package dev.verbena.verbs;

import dev.verbena.internal.Memory;
import dev.verbena.internal.QueuePairCalls;
import dev.verbena.raw.ibv_qp;
import dev.verbena.raw.ibv_qp_init_attr;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/** A queue pair: {@code struct ibv_qp}. */
public final class QueuePair extends Resource {
  private final ProtectionDomain domain;
  private final QueuePairType type;
  private final QueuePairCapacity capacity;
  private final int number;
  private final QueuePairCalls calls;

  private QueuePair(
      ProtectionDomain domain,
      QueuePairType type,
      QueuePairCapacity capacity,
      long address,
      Resource... parents) {
    super(address, () -> domain.verbs().ibv_destroy_qp(address), parents);
    this.domain = domain;
    this.type = type;
    this.capacity = capacity;
    this.number = ibv_qp.qp_num(Memory.at(address, ibv_qp.sizeof()));
    this.calls = new QueuePairCalls(address, domain.context().linking().isCritical());
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
      Objects.requireNonNull(sendCompletions, "a queue pair needs a completion queue for sends");
      Objects.requireNonNull(receiveCompletions, "a queue pair needs one for receives");
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment attr = ibv_qp_init_attr.allocate(arena);
        ibv_qp_init_attr.send_cq(attr, sendCompletions.segment());
        ibv_qp_init_attr.recv_cq(attr, receiveCompletions.segment());
        ibv_qp_init_attr.qp_type(attr, type.code());
        ibv_qp_init_attr.sq_sig_all(attr, signalAll ? 1 : 0);
        MemorySegment cap = ibv_qp_init_attr.cap(attr);
        capacity.writeTo(cap);
        long qp = domain.verbs().ibv_create_qp(domain.address(), attr.address());
        return new QueuePair(
            domain,
            type,
            QueuePairCapacity.readFrom(cap),
            qp,
            domain,
            sendCompletions,
            receiveCompletions);
      }
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
   */
  public ProtectionDomain domain() {
    return domain;
  }

  QueuePairCalls calls() {
    return calls;
  }

  @Override
  public String toString() {
    return "queue pair 0x" + Integer.toHexString(number) + " of " + domain.context().device();
  }
}
