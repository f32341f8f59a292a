package dev.verbena.verbs;

import dev.verbena.NativeFlag;
import dev.verbena.VerbsException;
import dev.verbena.internal.CheckReturnValue;
import dev.verbena.internal.Codes;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.Ranges;
import dev.verbena.internal.calls.WorkQueueCalls;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.life.ObjectText;
import dev.verbena.raw.ibv_wq;
import dev.verbena.raw.ibv_wq_attr;
import dev.verbena.raw.ibv_wq_init_attr;
import dev.verbena.raw.rdma_h;
import dev.verbena.values.WorkQueueFlag;
import dev.verbena.values.WorkQueueState;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;

/**
 * A receive work queue, one of those over which a {@linkplain ReceiveIndirectionTable table}
 * distributes packets: {@code struct ibv_wq}. Get one with {@link #builder}.
 *
 * <p>Closing it calls {@code ibv_destroy_wq}. See {@code ibv_create_wq(3)}.
 */
public final class WorkQueue extends Resource implements ReceiveQueue {
  private final ProtectionDomain domain;
  private final CompletionQueue completions;
  private final MemorySegment struct;
  private final int number;
  private final ReceivePosts receives;
  private final int maxRequests;
  private final int maxSges;

  private WorkQueue(
      ProtectionDomain domain,
      CompletionQueue completions,
      Core core,
      int maxRequests,
      int maxSges) {
    super(core);
    this.domain = domain;
    this.completions = completions;
    this.struct = Memory.at(core.address(), ibv_wq.sizeof());
    this.number = ibv_wq.wq_num(struct);
    WorkQueueCalls calls = new WorkQueueCalls(core.address(), domain.context().criticalCalls());
    this.receives =
        new ReceivePosts(
            RequestList.Limits.ofReceives(core, domain.root(), maxSges),
            "ibv_post_wq_recv",
            calls::ibv_post_wq_recv,
            (function, errno) -> {});
    this.maxRequests = maxRequests;
    this.maxSges = maxSges;
    core.beforeClose(this::beforeClose);
  }

  /**
   * {@return a builder of a work queue}
   *
   * @param domain the protection domain
   */
  public static Builder builder(ProtectionDomain domain) {
    domain.core.requireOpen();
    return new Builder(domain);
  }

  /** A builder of a work queue. */
  public static final class Builder {
    private final ProtectionDomain domain;
    private CompletionQueue completions;
    private int requests = 1;
    private int sges = 1;
    private Set<WorkQueueFlag> flags = Set.of();

    private Builder(ProtectionDomain domain) {
      this.domain = domain;
    }

    /**
     * Sets the completion queue of the receive requests.
     *
     * @param queue a completion queue of the same context
     * @return this
     */
    public Builder completions(CompletionQueue queue) {
      Core.requireSame(domain.context(), queue, queue.context());
      this.completions = queue;
      return this;
    }

    /**
     * Sets the minimum number of receive requests that the queue can hold. The default is 1.
     *
     * @param requests the number, at least 1
     * @return this
     */
    public Builder maxRequests(int requests) {
      this.requests = Ranges.positive(requests, "number of requests");
      return this;
    }

    /**
     * Sets the minimum number of SGEs that each receive request can have. The default is 1.
     *
     * @param sges the number, at least 1
     * @return this
     */
    public Builder maxSges(int sges) {
      this.sges = Ranges.positive(sges, "number of SGEs");
      return this;
    }

    /**
     * Sets the flags. The default is none.
     *
     * @param flags the flags
     * @return this
     */
    public Builder flags(WorkQueueFlag... flags) {
      this.flags = Set.copyOf(List.of(flags));
      return this;
    }

    /**
     * Creates the queue: {@code ibv_create_wq}.
     *
     * @return a queue in state RESET, to be closed
     */
    public WorkQueue create() {
      if (completions == null) {
        throw new IllegalStateException("no completion queue: call completions");
      }
      completions.settleForProvider();
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment attr = ibv_wq_init_attr.allocate(arena);
        ibv_wq_init_attr.wq_type(attr, rdma_h.IBV_WQT_RQ());
        ibv_wq_init_attr.max_wr(attr, requests);
        ibv_wq_init_attr.max_sge(attr, sges);
        ibv_wq_init_attr.pd(attr, domain.segment());
        ibv_wq_init_attr.cq(attr, completions.segment());
        if (!flags.isEmpty()) {
          ibv_wq_init_attr.comp_mask(attr, rdma_h.IBV_WQ_INIT_ATTR_FLAGS());
          ibv_wq_init_attr.create_flags(attr, (int) NativeFlag.mask(flags));
        }
        return Core.make(
            List.of(domain, completions),
            () -> domain.verbs().ibv_create_wq(domain.context().address(), attr.address()),
            domain.verbs()::ibv_destroy_wq,
            core ->
                // The provider writes the actual values back.
                new WorkQueue(
                    domain,
                    completions,
                    core,
                    ibv_wq_init_attr.max_wr(attr),
                    ibv_wq_init_attr.max_sge(attr)));
      } catch (VerbsException e) {
        throw Explanation.addIfUnsupported(
            e, domain.context().device() + " does not support work queues, or not with " + flags);
      }
    }
  }

  /**
   * Posts a range of receive requests of a list: {@code ibv_post_wq_recv}.
   *
   * @throws IllegalArgumentException {@inheritDoc}
   * @throws IllegalStateException {@inheritDoc}
   * @throws VerbsException {@inheritDoc}
   */
  @Override
  @CheckReturnValue
  public int post(ReceiveList list, int from, int count) {
    return receives.post(list, from, count);
  }

  /**
   * Transitions the queue to another state: {@code ibv_modify_wq}.
   *
   * @param state the new state
   */
  public void modify(WorkQueueState state) {
    if (state == WorkQueueState.UNKNOWN) {
      throw new IllegalArgumentException("UNKNOWN is not a state to transition to");
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
   * Changes the flags of the queue: {@code ibv_modify_wq}.
   *
   * @param set the flags to set
   * @param clear the flags to clear
   */
  public void modify(Set<WorkQueueFlag> set, Set<WorkQueueFlag> clear) {
    if (set.stream().anyMatch(clear::contains)) {
      throw new IllegalArgumentException(
          "flags must not be both set and cleared: " + set + ", " + clear);
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = ibv_wq_attr.allocate(arena);
      ibv_wq_attr.attr_mask(attr, rdma_h.IBV_WQ_ATTR_FLAGS());
      ibv_wq_attr.flags(attr, (int) NativeFlag.mask(set));
      ibv_wq_attr.flags_mask(attr, (int) (NativeFlag.mask(set) | NativeFlag.mask(clear)));
      modify(attr);
    }
  }

  private void modify(MemorySegment attr) {
    core.whileOpen(() -> domain.verbs().ibv_modify_wq(address(), attr.address()));
  }

  /** {@return the state of the queue that was set last} */
  public WorkQueueState state() {
    core.requireOpen();
    return Codes.of(WorkQueueState.class, ibv_wq.state(struct), WorkQueueState.UNKNOWN);
  }

  /** {@return the number of the queue, which its completions contain} */
  public int number() {
    core.requireOpen();
    return number;
  }

  /** {@return the maximum number of outstanding receive requests, at least as was requested} */
  public int maxRequests() {
    return maxRequests;
  }

  /** {@return the maximum number of SGEs of each receive request, at least as was requested} */
  public int maxSges() {
    return maxSges;
  }

  /** {@return the completion queue} */
  public CompletionQueue completions() {
    return completions;
  }

  /** {@return the protection domain} */
  public ProtectionDomain domain() {
    return domain;
  }

  private void beforeClose() {
    completions.requireNoCursor("closing " + this);
  }

  @Override
  public String toString() {
    return ObjectText.of(
        core,
        "work queue 0x" + Integer.toHexString(number) + " of " + domain.context().device(),
        ObjectText.ifOpen(
            core,
            () -> Codes.of(WorkQueueState.class, ibv_wq.state(struct), WorkQueueState.UNKNOWN)),
        maxRequests + " receive requests");
  }
}
