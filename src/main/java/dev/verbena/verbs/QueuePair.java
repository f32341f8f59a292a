package dev.verbena.verbs;

import dev.verbena.internal.Memory;
import dev.verbena.internal.QueuePairCalls;
import dev.verbena.raw.ibv_qp;
import dev.verbena.raw.ibv_qp_init_attr_ex;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.stream.Stream;

/** A queue pair: {@code struct ibv_qp}. */
public final class QueuePair extends Resource {
  private final ProtectionDomain domain;
  private final QueuePairType type;
  private final QueuePairCapacity capacity;
  private final int number;
  private final QueuePairCalls calls;

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
