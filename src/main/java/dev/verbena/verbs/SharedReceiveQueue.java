package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Segments;
import dev.verbena.internal.SharedReceiveQueueCalls;
import dev.verbena.internal.Verbs;
import dev.verbena.raw.ibv_srq_attr;
import dev.verbena.raw.ibv_srq_init_attr_ex;
import dev.verbena.raw.ibv_tm_cap;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/**
 * A receive queue that several queue pairs share: {@code struct ibv_srq}.
 *
 * <p>Closing it calls {@code ibv_destroy_srq}.
 */
public final class SharedReceiveQueue extends Resource implements ReceiveQueue {
  private final ProtectionDomain domain;
  private final SharedReceiveQueueType type;
  private final int entries;
  private final SharedReceiveQueueCalls calls;
  private final QueueLimits limits;

  private SharedReceiveQueue(
      ProtectionDomain domain,
      SharedReceiveQueueType type,
      int entries,
      long address,
      Runnable release) {
    super(address, release);
    this.domain = domain;
    this.type = type;
    this.entries = entries;
    this.calls = new SharedReceiveQueueCalls(address, domain.context().criticalCalls());
    this.limits = new QueueLimits(this, domain.root(), null, entries, 0);
  }

  /** What can be asked for when a shared receive queue is made. */
  public static final class Builder {
    private final ProtectionDomain domain;
    private final int requests;
    private int entries = 1;
    private SharedReceiveQueueType type = SharedReceiveQueueType.BASIC;
    private XrcDomain xrcDomain;
    private CompletionQueue completions;
    private int maxTags;
    private int maxOperations;

    Builder(ProtectionDomain domain, int requests) {
      if (requests < 1) {
        throw new IllegalArgumentException("a queue of " + requests + " requests");
      }
      this.domain = domain;
      this.requests = requests;
    }

    /**
     * How many scatter/gather entries each request may have; 1 by default.
     *
     * @param entries 1 or more
     * @return this
     */
    public Builder entries(int entries) {
      if (entries < 1) {
        throw new IllegalArgumentException("requests of " + entries + " entries");
      }
      this.entries = entries;
      return this;
    }

    /**
     * Makes a queue that the queue pairs of an XRC domain can reach by its number.
     *
     * @param domain the XRC domain
     * @param completions where its receives complete
     * @return this
     */
    public Builder xrc(XrcDomain domain, CompletionQueue completions) {
      if (domain.context() != this.domain.context()) {
        throw new IllegalArgumentException(domain + " is not of " + this.domain.context());
      }
      this.type = SharedReceiveQueueType.XRC;
      this.xrcDomain = domain;
      this.completions = ofSameContext(completions);
      return this;
    }

    /**
     * Makes a queue whose messages the device matches by tags.
     *
     * @param completions where its operations complete
     * @param maxTags how many tagged buffers there can be
     * @param maxOperations how many operations on them can be under way
     * @return this
     */
    public Builder tagMatching(CompletionQueue completions, int maxTags, int maxOperations) {
      if (maxTags < 1 || maxOperations < 1) {
        throw new IllegalArgumentException(
            "tag matching with %d tags and %d operations".formatted(maxTags, maxOperations));
      }
      this.type = SharedReceiveQueueType.TM;
      this.xrcDomain = null;
      this.completions = ofSameContext(completions);
      this.maxTags = maxTags;
      this.maxOperations = maxOperations;
      return this;
    }

    private CompletionQueue ofSameContext(CompletionQueue queue) {
      if (queue.context() != domain.context()) {
        throw new IllegalArgumentException(queue + " is not of " + domain.context());
      }
      return queue;
    }

    /**
     * Makes the queue: {@code ibv_create_srq}, or {@code ibv_create_srq_ex} for XRC and tag
     * matching.
     *
     * @return a queue, to be closed
     * @throws VerbsException if the device refuses, naming its limits
     */
    public SharedReceiveQueue create() {
      Context context = domain.context();
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment init = attributes(arena);
        return make(
            parents(null),
            () -> {
              long srq = context.verbs().ibv_create_srq_ex(context.address(), init.address());
              return made(init, srq, () -> context.verbs().ibv_destroy_srq(srq));
            });
      } catch (VerbsException e) {
        throw explained(e);
      }
    }

    /**
     * Makes the queue with C code elsewhere, such as librdmacm's.
     *
     * @param owner what the queue belongs to besides its domain
     * @param maker makes the queue and gives it back
     * @return a queue, to be closed
     */
    public SharedReceiveQueue create(Resource owner, Maker maker) {
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment init = attributes(arena);
        return make(
            parents(owner),
            () -> made(init, Segments.object(maker.create(init), "ibv_srq"), maker::destroy));
      } catch (VerbsException e) {
        throw explained(e);
      }
    }

    private SharedReceiveQueue made(MemorySegment init, long srq, Runnable release) {
      int madeFor = ibv_srq_attr.max_sge(ibv_srq_init_attr_ex.attr(init));
      return new SharedReceiveQueue(domain, type, madeFor, srq, release);
    }

    /** The {@code struct ibv_srq_init_attr_ex}, which begins with {@code ibv_srq_init_attr}. */
    private MemorySegment attributes(Arena arena) {
      MemorySegment init = ibv_srq_init_attr_ex.allocate(arena);
      new SharedReceiveQueueAttributes(requests, entries, 0)
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
        return e.explained(asked + " is not supported");
      }
      if (e.errno() != Errno.EINVAL && e.errno() != Errno.ENOMEM) {
        return e.explained(asked);
      }
      DeviceAttributes device = context.deviceAttributes();
      return e.explained(
          "%s: %d requests of %d entries were asked for, at most %d of %d are possible"
              .formatted(
                  asked,
                  requests,
                  entries,
                  device.maxSharedReceiveQueueRequests(),
                  device.maxSharedReceiveQueueEntries()));
    }
  }

  /** C code that makes a shared receive queue in a way of its own. */
  public interface Maker {
    /**
     * Makes the queue.
     *
     * @param attributes the {@code struct ibv_srq_init_attr_ex}; what C changes in it is heeded
     * @return the {@code struct ibv_srq}
     */
    MemorySegment create(MemorySegment attributes);

    /** Gives the queue back; throws if C refuses. */
    void destroy();
  }

  /**
   * What the queue holds now: {@code ibv_query_srq}.
   *
   * @return its attributes; a limit of 0 once the limit event was raised
   */
  public SharedReceiveQueueAttributes query() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = ibv_srq_attr.allocate(arena);
      whileOpen(() -> verbs().ibv_query_srq(address(), attr.address()));
      return SharedReceiveQueueAttributes.readFrom(attr);
    }
  }

  /**
   * Changes how many requests can be outstanding: {@code ibv_modify_srq}.
   *
   * @param requests how many
   * @throws VerbsException if the device cannot resize, or not to this number
   */
  public void resize(int requests) {
    if (requests < 1) {
      throw new IllegalArgumentException("a queue of " + requests + " requests");
    }
    modify(new SharedReceiveQueueAttributes(requests, 0, 0), rdma_h.IBV_SRQ_MAX_WR());
  }

  /**
   * Asks for one event, {@code IBV_EVENT_SRQ_LIMIT_REACHED}, when fewer requests than a limit are
   * outstanding: {@code ibv_modify_srq}.
   *
   * @param limit below how many; 0 to ask for none
   * @throws VerbsException if the limit is more than the queue holds
   */
  public void limit(int limit) {
    if (limit < 0) {
      throw new IllegalArgumentException("a limit of " + limit);
    }
    modify(new SharedReceiveQueueAttributes(0, 0, limit), rdma_h.IBV_SRQ_LIMIT());
  }

  private void modify(SharedReceiveQueueAttributes wanted, int mask) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = ibv_srq_attr.allocate(arena);
      wanted.writeTo(attr);
      whileOpen(() -> verbs().ibv_modify_srq(address(), attr.address(), mask));
    } catch (VerbsException e) {
      throw e.errno() == Errno.EINVAL
          ? e.explained("%s holds %s".formatted(this, query()))
          : e.explained(toString());
    }
  }

  /**
   * The queue's number, by which senders of XRC name it: {@code ibv_get_srq_num}.
   *
   * @return the number
   * @throws VerbsException EOPNOTSUPP if the device numbers no such queues
   */
  public int number() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment number = arena.allocate(ValueLayout.JAVA_INT);
      whileOpen(() -> verbs().ibv_get_srq_num(address(), number.address()));
      return number.get(ValueLayout.JAVA_INT, 0);
    }
  }

  /**
   * What the queue is for.
   *
   * @return the type it was made with
   */
  public SharedReceiveQueueType type() {
    return type;
  }

  /**
   * How many scatter/gather entries a request can have.
   *
   * @return at least what was asked for
   */
  public int entries() {
    return entries;
  }

  /**
   * The domain that the queue belongs to.
   *
   * @return the domain
   */
  public ProtectionDomain domain() {
    return domain;
  }

  /**
   * Posts all requests of a list: {@code ibv_post_srq_recv}.
   *
   * @param list receive requests
   * @return how many were taken, from the first: less than all if the queue is full
   */
  public int post(ReceiveList list) {
    return post(list, 0, list.size());
  }

  /**
   * Posts some requests of a list: {@code ibv_post_srq_recv}.
   *
   * @param list receive requests
   * @param from the index of the first one
   * @param count how many
   * @return how many were taken, from the first: less than {@code count} if the queue is full
   * @throws IllegalArgumentException if the queue cannot take a request; nothing is posted
   * @throws IllegalStateException if the queue or a region that a request names is closed; nothing
   *     is posted
   * @throws VerbsException if C refuses a request for another reason; those before it were taken,
   *     and {@link RequestList#refused} tells which it was
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
      int errno = calls.ibv_post_srq_recv(list.chain(from, count), list.refusedWord());
      list.memory.keep();
      return errno == 0 ? count : list.taken("ibv_post_srq_recv", errno, this, from, count);
    } finally {
      list.leave();
    }
  }

  /**
   * Posts operations on the list of tagged buffers: {@code ibv_post_srq_ops}.
   *
   * @param operations what to add, delete and synchronise, in this order
   * @return how many were taken, from the first: less than all if the queue of operations or the
   *     list of tags is full
   * @throws IllegalStateException if the queue matches no tags, or if it or a region that is named
   *     is closed; nothing is posted
   * @throws IllegalArgumentException if the queue cannot take an operation; nothing is posted
   * @throws VerbsException if C refuses an operation for another reason; those before it were taken
   */
  public int post(TagOperations operations) {
    hold();
    try {
      if (type != SharedReceiveQueueType.TM) {
        throw new IllegalStateException(this + " is of type " + type + " and matches no tags");
      }
      operations.validate(limits);
      int errno = verbs().ibv_post_srq_ops(address(), operations.first(), operations.refusedWord());
      operations.memory.keep();
      return errno == 0 ? operations.size() : operations.taken(errno, this);
    } finally {
      letGo();
    }
  }

  /**
   * The context that the queue was made from.
   *
   * @return the context
   */
  public Context context() {
    return domain.context();
  }

  private Verbs verbs() {
    return domain.verbs();
  }

  @Override
  protected void beforeClose() {
    parents(CompletionQueue.class).forEach(queue -> queue.requireNoCursor("closing " + this));
  }

  @Override
  public String toString() {
    return "shared receive queue of " + context().device();
  }
}
