package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.internal.Memory;
import dev.verbena.internal.WorkQueueCalls;
import dev.verbena.raw.ibv_wq;
import dev.verbena.raw.ibv_wq_attr;
import dev.verbena.raw.ibv_wq_init_attr;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;

/**
 * A receive queue by itself, over which a {@linkplain ReceiveIndirectionTable table} spreads
 * packets: {@code struct ibv_wq}.
 *
 * <p>Closing it calls {@code ibv_destroy_wq}.
 */
public final class WorkQueue extends Resource implements ReceiveQueue {
  private final ProtectionDomain domain;
  private final CompletionQueue completions;
  private final MemorySegment struct;
  private final QueueLimits limits;
  private final WorkQueueCalls calls;
  private final int maxRequests;
  private final int maxEntries;

  @SuppressWarnings("this-escape") // The limits only keep the reference.
  private WorkQueue(
      ProtectionDomain domain,
      CompletionQueue completions,
      long address,
      int maxRequests,
      int maxEntries) {
    super(address, () -> domain.verbs().ibv_destroy_wq(address));
    this.domain = domain;
    this.completions = completions;
    this.struct = Memory.at(address, ibv_wq.sizeof());
    this.limits = new QueueLimits(this, domain.root(), null, maxEntries, 0);
    this.calls = new WorkQueueCalls(address, domain.context().criticalCalls());
    this.maxRequests = maxRequests;
    this.maxEntries = maxEntries;
  }

  /** What can be asked for when a work queue is made. */
  public static final class Builder {
    private final ProtectionDomain domain;
    private CompletionQueue completions;
    private int requests = 1;
    private int entries = 1;
    private Set<WorkQueueFlag> flags = Set.of();

    Builder(ProtectionDomain domain) {
      domain.requireOpen();
      this.domain = domain;
    }

    /**
     * Chooses where receives complete.
     *
     * @param queue a queue of the same context
     * @return this
     */
    public Builder completions(CompletionQueue queue) {
      if (queue.context() != domain.context()) {
        throw new IllegalArgumentException(queue + " is not of " + domain.context());
      }
      this.completions = queue;
      return this;
    }

    /**
     * How much the queue must hold; by default one request of one entry.
     *
     * @param requests how many receive requests
     * @param entries how many scatter entries each may have
     * @return this
     */
    public Builder capacity(int requests, int entries) {
      if (requests < 1 || entries < 1) {
        throw new IllegalArgumentException(
            "a work queue of " + requests + " requests of " + entries + " entries");
      }
      this.requests = requests;
      this.entries = entries;
      return this;
    }

    /**
     * Chooses what the queue does with packets.
     *
     * @param flags nothing by default
     * @return this
     */
    public Builder flags(WorkQueueFlag... flags) {
      this.flags = Set.copyOf(List.of(flags));
      return this;
    }

    /**
     * Makes the queue: {@code ibv_create_wq}.
     *
     * @return a queue in state RESET, to be closed
     */
    public WorkQueue create() {
      if (completions == null) {
        throw new IllegalStateException("a work queue needs a completion queue: completions()");
      }
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment attr = ibv_wq_init_attr.allocate(arena);
        ibv_wq_init_attr.wq_type(attr, rdma_h.IBV_WQT_RQ());
        ibv_wq_init_attr.max_wr(attr, requests);
        ibv_wq_init_attr.max_sge(attr, entries);
        ibv_wq_init_attr.pd(attr, domain.segment());
        ibv_wq_init_attr.cq(attr, completions.segment());
        if (!flags.isEmpty()) {
          ibv_wq_init_attr.comp_mask(attr, rdma_h.IBV_WQ_INIT_ATTR_FLAGS());
          ibv_wq_init_attr.create_flags(attr, (int) Flags.mask(flags));
        }
        return make(List.of(domain, completions), () -> made(attr));
      } catch (VerbsException e) {
        throw e.isUnsupported()
            ? e.explained(domain.context().device() + " has no work queues, or not with " + flags)
            : e;
      }
    }

    private WorkQueue made(MemorySegment attr) {
      long wq = domain.verbs().ibv_create_wq(domain.context().address(), attr.address());
      // The provider writes back what it really allocated.
      return new WorkQueue(
          domain, completions, wq, ibv_wq_init_attr.max_wr(attr), ibv_wq_init_attr.max_sge(attr));
    }
  }

  /**
   * Posts all requests of a list: {@code ibv_post_wq_recv}.
   *
   * @param list receive requests
   * @return how many were taken, from the first: less than all if the queue is full
   * @throws VerbsException if C refuses a request for another reason
   */
  public int post(ReceiveList list) {
    return post(list, 0, list.size());
  }

  /**
   * Posts some requests of a list: {@code ibv_post_wq_recv}.
   *
   * @param list receive requests
   * @param from the index of the first one
   * @param count how many
   * @return how many were taken, from the first: less than {@code count} if the queue is full
   * @throws IllegalArgumentException if the queue cannot take a request; nothing is posted
   * @throws VerbsException if C refuses a request for another reason
   */
  @Override
  public int post(ReceiveList list, int from, int count) {
    list.enter();
    try {
      if (BoundsChecks.ON && !list.isValidated(this, from, count)) {
        list.validate(limits, from, count);
      }
      if (count == 0) {
        return 0;
      }
      int errno = calls.ibv_post_wq_recv(list.chain(from, count), list.refusedWord());
      list.memory.keep();
      return errno == 0 ? count : list.posted("ibv_post_wq_recv", errno, this, from, count);
    } finally {
      list.leave();
    }
  }

  /**
   * Moves the queue to another state: {@code ibv_modify_wq}.
   *
   * @param state the state
   */
  public void modify(WorkQueueState state) {
    if (state == WorkQueueState.UNKNOWN) {
      throw new IllegalArgumentException("no queue can be moved to an unknown state");
    }
    if (state == WorkQueueState.RESET) {
      completions.requireNoCursor("resetting " + this);
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = ibv_wq_attr.allocate(arena);
      ibv_wq_attr.attr_mask(attr, rdma_h.IBV_WQ_ATTR_STATE());
      ibv_wq_attr.wq_state(attr, state.code());
      modify(attr);
    }
  }

  /**
   * Changes what the queue does with packets: {@code ibv_modify_wq}.
   *
   * @param set what it is to do
   * @param clear what it is to do no longer
   */
  public void modify(Set<WorkQueueFlag> set, Set<WorkQueueFlag> clear) {
    if (set.stream().anyMatch(clear::contains)) {
      throw new IllegalArgumentException("to be both set and cleared: " + set + ", " + clear);
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = ibv_wq_attr.allocate(arena);
      ibv_wq_attr.attr_mask(attr, rdma_h.IBV_WQ_ATTR_FLAGS());
      ibv_wq_attr.flags(attr, (int) Flags.mask(set));
      ibv_wq_attr.flags_mask(attr, (int) (Flags.mask(set) | Flags.mask(clear)));
      modify(attr);
    }
  }

  private void modify(MemorySegment attr) {
    whileOpen(() -> domain.verbs().ibv_modify_wq(address(), attr.address()));
  }

  /**
   * What the queue does.
   *
   * @return the state that the provider knows
   */
  public WorkQueueState state() {
    requireOpen();
    return Codes.of(WorkQueueState.class, ibv_wq.state(struct), WorkQueueState.UNKNOWN);
  }

  /**
   * The queue's number, which its completions name.
   *
   * @return the number
   */
  public int number() {
    requireOpen();
    return ibv_wq.wq_num(struct);
  }

  /**
   * How many receive requests the queue holds.
   *
   * @return at least what was asked for
   */
  public int maxRequests() {
    return maxRequests;
  }

  /**
   * How many scatter entries a request may have.
   *
   * @return at least what was asked for
   */
  public int maxEntries() {
    return maxEntries;
  }

  /**
   * Where receives complete.
   *
   * @return the completion queue
   */
  public CompletionQueue completions() {
    return completions;
  }

  /**
   * The domain that the queue belongs to.
   *
   * @return the domain
   */
  public ProtectionDomain domain() {
    return domain;
  }

  @Override
  protected void beforeClose() {
    completions.requireNoCursor("closing " + this);
  }

  @Override
  public String toString() {
    return "work queue of " + domain.context().device();
  }
}
