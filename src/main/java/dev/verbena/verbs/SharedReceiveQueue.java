package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.attributes.DeviceAttributes;
import dev.verbena.attributes.TagMatchingCapabilities;
import dev.verbena.internal.CheckReturnValue;
import dev.verbena.internal.DirectPath;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.QueueMaker;
import dev.verbena.internal.Ranges;
import dev.verbena.internal.Verbs;
import dev.verbena.internal.calls.NativeSharedReceiveQueueCalls;
import dev.verbena.internal.calls.SharedReceiveQueueCalls;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.life.ObjectText;
import dev.verbena.raw.ibv_srq;
import dev.verbena.raw.ibv_srq_attr;
import dev.verbena.raw.ibv_srq_init_attr_ex;
import dev.verbena.raw.ibv_tm_cap;
import dev.verbena.raw.rdma_h;
import dev.verbena.values.SharedReceiveQueueAttributes;
import dev.verbena.values.SharedReceiveQueueType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A shared receive queue (SRQ): a receive queue of several queue pairs ({@code struct ibv_srq}).
 *
 * {@snippet :
 * try (SharedReceiveQueue shared = SharedReceiveQueue.create(pd, 1024);
 *     QueuePair queuePair =
 *         QueuePair.builder(pd, QueuePairType.RC).completions(cq).sharedReceiveQueue(shared).create()) {
 *   int posted = shared.post(receives);
 * }
 * }
 *
 * <p>It may be used by several threads, and closed while other threads post to it. Closing it first
 * closes its queue pairs, then calls {@code ibv_destroy_srq}. See {@code ibv_create_srq(3)} and
 * {@code ibv_post_srq_recv(3)}.
 */
public final class SharedReceiveQueue extends Resource implements ReceiveQueue {
  private final ProtectionDomain domain;
  private final int handle;
  private final SharedReceiveQueueType type;
  private final int maxSges;

  /** Replaced when the queue becomes direct, which is before its first post. */
  private volatile SharedReceiveQueueCalls calls;

  /** Whether the first post or queue pair decides who posts: the provider or Java code. */
  private volatile boolean isUndecided;

  private final ReceivePosts receives;
  private final RequestList.Limits limits;

  private SharedReceiveQueue(
      ProtectionDomain domain,
      SharedReceiveQueueType type,
      int maxSges,
      boolean isDirect,
      Core core) {
    super(core);
    this.handle = Memory.getInt(core.address() + ibv_srq.handle$offset());
    core.beforeClose(this::beforeClose);
    this.domain = domain;
    this.type = type;
    this.maxSges = maxSges;
    this.limits = RequestList.Limits.ofReceives(core, domain.root(), maxSges);
    this.calls = new NativeSharedReceiveQueueCalls(core.address(), context().criticalCalls());
    if (isDirect) {
      becomeDirect();
    } else {
      isUndecided = type == SharedReceiveQueueType.BASIC && DirectPath.isAutomatic();
    }
    this.receives =
        new ReceivePosts(
            limits, "ibv_post_srq_recv", this::ibv_post_srq_recv, (function, errno) -> {});
  }

  /**
   * Creates a shared receive queue with one scatter/gather element (SGE) per receive request:
   * {@code ibv_create_srq}.
   *
   * @param domain the protection domain
   * @param requests the minimum number of receive requests that the queue can hold
   * @return the queue, to be closed
   */
  public static SharedReceiveQueue create(ProtectionDomain domain, int requests) {
    return builder(domain, requests).create();
  }

  /**
   * {@return a builder of a shared receive queue}
   *
   * @param domain the protection domain
   * @param requests the minimum number of receive requests that the queue can hold
   */
  public static Builder builder(ProtectionDomain domain, int requests) {
    domain.core.requireOpen();
    return new Builder(domain, requests);
  }

  /** A builder of a shared receive queue. */
  public static final class Builder {
    private final ProtectionDomain domain;
    private final int requests;
    private int maxSges = 1;
    private SharedReceiveQueueType type = SharedReceiveQueueType.BASIC;
    private @Nullable XrcDomain xrcDomain;
    private @Nullable CompletionQueue completions;
    private int maxTags = 1;
    private int maxOperations = 1;
    private boolean isDirect;

    private Builder(ProtectionDomain domain, int requests) {
      this.domain = domain;
      this.requests = Ranges.positive(requests, "number of receive requests");
    }

    /**
     * Sets the maximum number of scatter/gather elements (SGEs) of each receive request. The
     * default is 1.
     *
     * @param sges the number, at least 1
     * @return this
     */
    public Builder maxSges(int sges) {
      this.maxSges = Ranges.positive(sges, "number of SGEs");
      return this;
    }

    /**
     * Makes it an XRC shared receive queue, which the queue pairs of an XRC domain reach by its
     * number.
     *
     * @param domain the XRC domain
     * @param completions the completion queue of its receive requests
     * @return this
     */
    public Builder xrc(XrcDomain domain, CompletionQueue completions) {
      Core.requireSame(this.domain.context(), domain, domain.context());
      this.type = SharedReceiveQueueType.XRC;
      this.xrcDomain = domain;
      this.completions = ofSameContext(completions);
      return this;
    }

    /**
     * Enables tag matching: the device matches messages to buffers by tags. The defaults are one
     * tagged buffer and one outstanding tag operation.
     *
     * @param completions the completion queue of the receive requests and tag operations; libmlx5
     *     requires an {@linkplain CompletionQueue.Builder#createExtended extended} one
     * @return this
     */
    public Builder tagMatching(CompletionQueue completions) {
      this.type = SharedReceiveQueueType.TM;
      this.xrcDomain = null;
      this.completions = ofSameContext(completions);
      return this;
    }

    /**
     * Sets the maximum number of tagged buffers of a queue with tag matching. The default is 1.
     *
     * @param tags the number, at least 1
     * @return this
     */
    public Builder maxTags(int tags) {
      this.maxTags = Ranges.positive(tags, "number of tags");
      return this;
    }

    /**
     * Sets the maximum number of outstanding tag operations of a queue with tag matching. The
     * default is 1.
     *
     * @param operations the number, at least 1
     * @return this
     */
    public Builder maxTagOperations(int operations) {
      this.maxOperations = Ranges.positive(operations, "number of tag operations");
      return this;
    }

    /**
     * Selects the direct data path, for queue pairs whose completion queues are {@linkplain
     * CompletionQueue.Builder#direct direct}. With {@code -Ddev.verbena.direct=auto} the first
     * queue pair or the first post decides, whichever comes first.
     *
     * @return this
     */
    public Builder direct() {
      isDirect = true;
      return this;
    }

    private CompletionQueue ofSameContext(CompletionQueue queue) {
      Core.requireSame(domain.context(), queue, queue.context());
      return queue;
    }

    /**
     * Creates the queue: {@code ibv_create_srq}, or {@code ibv_create_srq_ex} for XRC and tag
     * matching.
     *
     * @return a queue, to be closed
     * @throws VerbsException if it cannot be created; the message names the limits of the device,
     *     or why the queue cannot be direct
     */
    public SharedReceiveQueue create() {
      Context context = domain.context();
      requireBasicIfDirect(); // Before the completion queue is settled.
      if (completions != null) {
        completions.settleForProvider();
      }
      return create(
          null,
          new QueueMaker(
              attr -> context.verbs().ibv_create_srq_ex(context.address(), attr),
              context.verbs()::ibv_destroy_srq));
    }

    /**
     * Creates the queue with another C function, for example that of librdmacm.
     *
     * @param on the context that the function creates the queue on
     * @param owner an object that must be closed after the queue, besides its domain
     * @param maker creates and destroys the queue
     * @return a queue, to be closed
     * @hidden
     */
    @SuppressWarnings({"exports", "InvalidBlockTag"}) // Programs cannot make the argument.
    public SharedReceiveQueue create(Context on, Resource owner, QueueMaker maker) {
      Core.requireSame(on, "a builder of a queue of " + domain.context(), domain.context());
      return create(owner, maker);
    }

    private SharedReceiveQueue create(@Nullable Resource owner, QueueMaker maker) {
      requireBasicIfDirect();
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment init = attributes(arena);
        return Core.make(
            parents(owner),
            () -> maker.creation().applyAsLong(init.address()),
            maker.destruction(),
            core -> made(init, core));
      } catch (VerbsException e) {
        throw explained(e);
      }
    }

    private void requireBasicIfDirect() {
      if (isDirect && type != SharedReceiveQueueType.BASIC) {
        throw new IllegalStateException(
            "a shared receive queue of type " + type + " cannot be direct()");
      }
    }

    private SharedReceiveQueue made(MemorySegment init, Core core) {
      int madeFor = ibv_srq_attr.max_sge(ibv_srq_init_attr_ex.attr(init));
      return new SharedReceiveQueue(domain, type, madeFor, isDirect, core);
    }

    /**
     * Returns the {@code struct ibv_srq_init_attr_ex}, which begins with {@code ibv_srq_init_attr}.
     */
    private MemorySegment attributes(Arena arena) {
      MemorySegment init = ibv_srq_init_attr_ex.allocate(arena);
      new SharedReceiveQueueAttributes(requests, maxSges, 0)
          .writeTo(ibv_srq_init_attr_ex.attr(init));
      writeTo(init);
      return init;
    }

    private void writeTo(MemorySegment init) {
      int mask = rdma_h.IBV_SRQ_INIT_ATTR_PD() | rdma_h.IBV_SRQ_INIT_ATTR_TYPE();
      ibv_srq_init_attr_ex.pd(init, domain.segment());
      ibv_srq_init_attr_ex.srq_type(init, type.code());
      if (completions != null) {
        mask |= rdma_h.IBV_SRQ_INIT_ATTR_CQ();
        ibv_srq_init_attr_ex.cq(init, completions.segment());
      }
      if (xrcDomain != null) {
        mask |= rdma_h.IBV_SRQ_INIT_ATTR_XRCD();
        ibv_srq_init_attr_ex.xrcd(init, xrcDomain.segment());
      }
      if (type == SharedReceiveQueueType.TM) {
        mask |= rdma_h.IBV_SRQ_INIT_ATTR_TM();
        MemorySegment cap = ibv_srq_init_attr_ex.tm_cap(init);
        ibv_tm_cap.max_num_tags(cap, maxTags);
        ibv_tm_cap.max_ops(cap, maxOperations);
      }
      ibv_srq_init_attr_ex.comp_mask(init, mask);
    }

    private List<Resource> parents(Resource owner) {
      return Stream.of(owner, domain, xrcDomain, completions).filter(Objects::nonNull).toList();
    }

    private VerbsException explained(VerbsException e) {
      Context context = domain.context();
      String asked = "a shared receive queue of type " + type + " on " + context.device();
      if (e.isUnsupported()) {
        return Explanation.add(e, asked + " is not supported");
      }
      if (e.errno() != Errno.EINVAL && e.errno() != Errno.ENOMEM) {
        return Explanation.add(e, asked);
      }
      DeviceAttributes device = context.deviceAttributes();
      String limits =
          "%s with %d requests of %d SGEs: the maximum is %d requests of %d SGEs"
              .formatted(
                  asked,
                  requests,
                  maxSges,
                  device.maxSharedReceiveQueueRequests(),
                  device.maxSharedReceiveQueueSges());
      return Explanation.add(
          e, type == SharedReceiveQueueType.TM ? limits + tagLimits(device) : limits);
    }

    private String tagLimits(DeviceAttributes device) {
      TagMatchingCapabilities most = device.tagMatching();
      return ", with %d tags and %d tag operations: the maximum is %d tags and %d operations; libmlx5 requires an extended completion queue"
          .formatted(maxTags, maxOperations, most.maxTags(), most.maxOperations());
    }
  }

  /**
   * Returns the current attributes of the queue: {@code ibv_query_srq}.
   *
   * @return the attributes; the limit is 0 after the limit event was generated
   */
  public SharedReceiveQueueAttributes query() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = ibv_srq_attr.allocate(arena);
      core.whileOpen(() -> verbs().ibv_query_srq(address(), attr.address()));
      return SharedReceiveQueueAttributes.readFrom(attr);
    }
  }

  /**
   * Changes the capacity of the queue: {@code ibv_modify_srq} with {@code IBV_SRQ_MAX_WR}.
   *
   * @param requests the maximum number of outstanding receive requests
   * @throws VerbsException if the device cannot resize the queue, or not to this number
   */
  public void resize(int requests) {
    var _ = Ranges.positive(requests, "number of receive requests");
    modify(new SharedReceiveQueueAttributes(requests, 0, 0), rdma_h.IBV_SRQ_MAX_WR());
  }

  /**
   * Sets the limit of the queue: one event {@code IBV_EVENT_SRQ_LIMIT_REACHED} is generated when
   * the number of outstanding receive requests falls below it ({@code ibv_modify_srq} with {@code
   * IBV_SRQ_LIMIT}).
   *
   * @param limit the number of receive requests; 0 for no event
   * @throws VerbsException if the limit exceeds the capacity of the queue
   */
  public void limit(int limit) {
    var _ = Ranges.notNegative(limit, "limit");
    modify(new SharedReceiveQueueAttributes(0, 0, limit), rdma_h.IBV_SRQ_LIMIT());
  }

  private void modify(SharedReceiveQueueAttributes wanted, int mask) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = ibv_srq_attr.allocate(arena);
      wanted.writeTo(attr);
      core.whileOpen(() -> verbs().ibv_modify_srq(address(), attr.address(), mask));
    } catch (VerbsException e) {
      throw e.errno() == Errno.EINVAL
          ? Explanation.add(e, "%s has %s".formatted(this, query()))
          : Explanation.add(e, toString());
    }
  }

  /**
   * {@return the number of the queue, by which XRC senders name it: {@code ibv_get_srq_num}}
   *
   * @throws VerbsException EOPNOTSUPP if the queue has no number
   */
  public int number() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment number = arena.allocate(ValueLayout.JAVA_INT);
      core.whileOpen(() -> verbs().ibv_get_srq_num(address(), number.address()));
      return number.get(ValueLayout.JAVA_INT, 0);
    }
  }

  /** {@return the type of the queue} */
  public SharedReceiveQueueType type() {
    return type;
  }

  /** {@return the maximum number of SGEs of each receive request, at least as was requested} */
  public int maxSges() {
    return maxSges;
  }

  /** {@return whether Java code posts to the queue: see {@link Builder#direct}} */
  public boolean isDirect() {
    return calls.isDirect();
  }

  boolean canBeDirect() {
    return isDirect() || isUndecided;
  }

  /** Returns the direct data path of the queue, which it has from now on. */
  SharedReceiveQueueCalls directCalls() {
    if (!isDirect()) {
      becomeDirect();
    }
    return calls;
  }

  private void becomeDirect() {
    calls = context().directPath().sharedReceiveQueue(address(), maxSges);
    isUndecided = false;
  }

  /** Leaves posting to the provider, if that is undecided. */
  void settleForProvider() {
    isUndecided = false;
  }

  private int ibv_post_srq_recv(long wr, long badWr) {
    if (isUndecided) {
      decide();
    }
    return calls.ibv_post_srq_recv(wr, badWr);
  }

  private void decide() {
    synchronized (context().directPath()) {
      if (isUndecided && context().directPath().obstacle().isEmpty()) {
        becomeDirect();
      }
      settleForProvider();
    }
  }

  /** {@return the protection domain of the queue} */
  public ProtectionDomain domain() {
    return domain;
  }

  /**
   * Posts a range of receive requests of a list: {@code ibv_post_srq_recv}.
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
   * Posts operations on the list of tagged buffers: {@code ibv_post_srq_ops}.
   *
   * @param operations the add, delete and synchronization operations, which are processed in this
   *     order
   * @return the number of operations that were posted, from the first one on; less than all if the
   *     operation queue or the tag list is full
   * @throws IllegalStateException if the queue has no tag matching, or if it or a region that is
   *     named is closed; nothing is posted
   * @throws IllegalArgumentException if an operation does not suit the queue; nothing is posted
   * @throws VerbsException if {@code ibv_post_srq_ops} fails for another reason; the operations
   *     before the failed one were posted
   */
  @CheckReturnValue
  public int post(TagOperations operations) {
    core.hold();
    try {
      if (type != SharedReceiveQueueType.TM) {
        throw new IllegalStateException(
            this + " has type " + type + ": tag operations require type TM");
      }
      operations.validate(limits);
      int errno =
          verbs().ibv_post_srq_ops(address(), operations.first(), operations.badOperationWord());
      operations.memory.keep();
      return errno == 0 ? operations.size() : operations.posted(errno, this);
    } finally {
      core.endHold();
    }
  }

  /** {@return the context of the queue} */
  public Context context() {
    return domain.context();
  }

  private Verbs verbs() {
    return domain.verbs();
  }

  private void beforeClose() {
    core.parents(CompletionQueue.class).forEach(queue -> queue.requireNoCursor("closing " + this));
  }

  @Override
  public String toString() {
    return ObjectText.of(
        core, "shared receive queue " + handle + " of " + context().device(), type);
  }
}
