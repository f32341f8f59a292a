package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.CompletionQueueCalls;
import dev.verbena.internal.Memory;
import dev.verbena.internal.Segments;
import dev.verbena.raw.ibv_cq;
import dev.verbena.raw.ibv_cq_init_attr_ex;
import dev.verbena.raw.ibv_moderate_cq;
import dev.verbena.raw.ibv_modify_cq_attr;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;

/**
 * A completion queue: {@code struct ibv_cq}.
 *
 * <p>Closing it calls {@code ibv_destroy_cq}.
 */
public sealed class CompletionQueue extends Resource permits ExtendedCompletionQueue {
  private static final System.Logger LOG = System.getLogger("dev.verbena");
  private static final long MICROSECOND = 1000;

  /** What 16 bits hold in microseconds. */
  private static final Duration LONGEST_PERIOD = Duration.ofNanos(0xffff * MICROSECOND);

  /** How many completions one call takes for a handler. */
  private static final int BATCH = 16;

  private final AtomicReference<Completions> spare = new AtomicReference<>(new Completions(BATCH));
  private final Context context;
  private final CompletionChannel channel;
  private final AtomicLong expected = new AtomicLong();
  private final AtomicBoolean warns;
  private final MemorySegment struct;
  private final CompletionQueueCalls calls;

  @SuppressWarnings("this-escape") // The channel only keeps the reference until events arrive.
  CompletionQueue(Made made) {
    super(made.address(), made::release);
    this.context = made.context();
    this.channel = made.channel();
    this.warns = new AtomicBoolean(made.warns());
    this.struct = Memory.at(made.address(), ibv_cq.sizeof());
    this.calls = new CompletionQueueCalls(made.address(), context.criticalCalls());
    made.events().of(this);
    if (channel != null) {
      channel.add(made.events());
    }
  }

  /** A queue that C made, and how it is given back. */
  record Made(
      Context context,
      CompletionChannel channel,
      long address,
      boolean owned,
      boolean warns,
      CompletionEvents events) {

    Made(Context context, CompletionChannel channel, long address, boolean owned, boolean warns) {
      this(context, channel, address, owned, warns, new CompletionEvents(context.verbs(), address));
    }

    void release() {
      events.acknowledge();
      if (owned) {
        context.verbs().ibv_destroy_cq(address);
      }
      if (channel != null) {
        channel.remove(events);
      }
    }
  }

  /** What can be asked for when a completion queue is made. */
  public static final class Builder {
    private final Context context;
    private final int entries;
    private int vector;
    private CompletionChannel channel;
    private ProtectionDomain domain;
    private int flags;
    private boolean warns = true;

    Builder(Context context, int entries) {
      if (entries < 1) {
        throw new IllegalArgumentException("a completion queue of " + entries + " entries");
      }
      this.context = context;
      this.entries = entries;
    }

    /**
     * Chooses the completion vector, that is the interrupt, which signals events.
     *
     * @param vector 0 to {@link Context#completionVectors} - 1
     * @return this
     */
    public Builder vector(int vector) {
      this.vector = Objects.checkIndex(vector, context.completionVectors());
      return this;
    }

    /**
     * Chooses where the queue announces completions; without a channel it is only polled.
     *
     * @param channel a channel of the same context
     * @return this
     */
    public Builder channel(CompletionChannel channel) {
      if (channel.context() != context) {
        throw new IllegalArgumentException(channel + " is not of " + context);
      }
      this.channel = channel;
      return this;
    }

    /**
     * Makes the queue in a parent domain, whose allocators and thread domain it then uses.
     *
     * @param domain a domain of the same context
     * @return this
     */
    public Builder parentDomain(ProtectionDomain domain) {
      if (domain.context() != context) {
        throw new IllegalArgumentException(domain + " is not of " + context);
      }
      this.domain = domain;
      return this;
    }

    /**
     * Promises that one thread at a time polls the queue, so that the provider need not lock:
     * {@code IBV_CREATE_CQ_ATTR_SINGLE_THREADED}.
     *
     * @return this
     */
    public Builder singleThreaded() {
      flags |= rdma_h.IBV_CREATE_CQ_ATTR_SINGLE_THREADED();
      return this;
    }

    /**
     * Lets the queue overrun without an error, for those who know that it cannot or who count
     * completions otherwise: {@code IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN}.
     *
     * @return this
     */
    public Builder ignoreOverrun() {
      flags |= rdma_h.IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN();
      return this;
    }

    /**
     * Suppresses the warning that is logged when the queue pairs of this queue can have more
     * requests outstanding than it holds. For programs that signal only some of their sends or
     * limit the number of outstanding requests otherwise.
     *
     * @return this
     */
    public Builder withoutCapacityWarning() {
      warns = false;
      return this;
    }

    /**
     * Makes the queue: {@code ibv_create_cq}, or {@code ibv_create_cq_ex} where more is asked for
     * than that can express.
     *
     * @return a queue, to be closed
     */
    public CompletionQueue create() {
      boolean plain = flags == 0 && domain == null;
      return make(
          parents(), () -> new CompletionQueue(made(plain ? createPlain() : createExtended(0))));
    }

    /**
     * Makes the queue as an extended one, which tells of each completion what is asked for here:
     * {@code ibv_create_cq_ex}.
     *
     * @param fields what to tell
     * @return a queue, to be closed
     */
    public ExtendedCompletionQueue createExtended(CompletionField... fields) {
      Set<CompletionField> wanted = EnumSet.noneOf(CompletionField.class);
      wanted.addAll(List.of(fields));
      return make(
          parents(),
          () -> new ExtendedCompletionQueue(made(createExtended(Flags.mask(wanted))), wanted));
    }

    private List<Resource> parents() {
      return Stream.of(context, channel, domain).filter(Objects::nonNull).toList();
    }

    private long createPlain() {
      long channelAddress = channel == null ? 0 : channel.address();
      try {
        return context.verbs().ibv_create_cq(context.address(), entries, 0, channelAddress, vector);
      } catch (VerbsException e) {
        throw explained(e);
      }
    }

    private long createExtended(long fields) {
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment attr = ibv_cq_init_attr_ex.allocate(arena);
        ibv_cq_init_attr_ex.cqe(attr, entries);
        ibv_cq_init_attr_ex.comp_vector(attr, vector);
        ibv_cq_init_attr_ex.wc_flags(attr, fields);
        if (channel != null) {
          ibv_cq_init_attr_ex.channel(attr, channel.segment());
        }
        int mask = 0;
        if (flags != 0) {
          mask |= rdma_h.IBV_CQ_INIT_ATTR_MASK_FLAGS();
          ibv_cq_init_attr_ex.flags(attr, flags);
        }
        if (domain != null) {
          mask |= rdma_h.IBV_CQ_INIT_ATTR_MASK_PD();
          ibv_cq_init_attr_ex.parent_domain(attr, domain.segment());
        }
        ibv_cq_init_attr_ex.comp_mask(attr, mask);
        return context.verbs().ibv_create_cq_ex(context.address(), attr.address());
      } catch (VerbsException e) {
        throw explained(e);
      }
    }

    private Made made(long address) {
      boolean overrunIsSaid = (flags & rdma_h.IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN()) == 0;
      return new Made(context, channel, address, true, warns && overrunIsSaid);
    }

    private VerbsException explained(VerbsException e) {
      if (e.errno() == Errno.EINVAL) {
        return e.explained(
            "a completion queue of "
                + entries
                + " entries on "
                + context.device()
                + ": are these more than its max_cqe?");
      }
      return e.isUnsupported()
          ? e.explained(context.device() + " lacks something that the queue was asked to have")
          : e;
    }
  }

  /**
   * A queue that C code made and will destroy, such as one of librdmacm.
   *
   * @param context the context it belongs to
   * @param segment the {@code struct ibv_cq}
   * @return a queue whose closing acknowledges its events but leaves the C object alone
   */
  public static CompletionQueue borrow(Context context, MemorySegment segment) {
    long address = Segments.object(segment, "ibv_cq");
    return make(
        List.of(context),
        () -> new CompletionQueue(new Made(context, null, address, false, false)));
  }

  /**
   * A queue that C code made and will destroy, and whose announcements are to be taken here.
   *
   * @param channel the channel that the queue was made with
   * @param segment the {@code struct ibv_cq}
   * @return a queue whose closing acknowledges its events but leaves the C object alone
   */
  public static CompletionQueue borrow(CompletionChannel channel, MemorySegment segment) {
    long address = Segments.object(segment, "ibv_cq");
    MemorySegment cq = Memory.at(address, ibv_cq.sizeof());
    if (ibv_cq.channel(cq).address() != channel.address()) {
      throw new IllegalArgumentException("the queue was not made with " + channel);
    }
    Context context = channel.context();
    return make(
        List.of(context, channel),
        () -> new CompletionQueue(new Made(context, channel, address, false, false)));
  }

  /**
   * Counts the requests that a queue pair can have outstanding, each of which may leave a
   * completion, and warns once if there may be more than the queue holds: an overrun loses
   * completions, and only an asynchronous event tells.
   *
   * @param requests how many; negative when the queue pair was destroyed
   */
  void expect(QueuePair queuePair, int requests) {
    long all = expected.addAndGet(requests);
    if (requests <= 0) {
      return;
    }
    int capacity = capacity();
    if (all > capacity && warns.getAndSet(false)) {
      LOG.log(
          System.Logger.Level.WARNING,
          "%s holds %d completions, but its queue pairs, the last one %s, can have %d requests"
                  .formatted(this, capacity, queuePair, all)
              + " outstanding: an overrun (IBV_EVENT_CQ_ERR) loses completions. Create it with as"
              + " many entries, or with withoutCapacityWarning() if fewer are signaled or"
              + " outstanding at a time");
    }
  }

  /**
   * How many completions the queue holds.
   *
   * @return at least what was asked for
   */
  public int capacity() {
    requireOpen();
    return ibv_cq.cqe(struct);
  }

  /**
   * Changes how many completions the queue holds: {@code ibv_resize_cq}. May be done while the
   * queue is in use.
   *
   * @param entries how many; no fewer than it holds at the moment
   */
  public void resize(int entries) {
    if (entries < 1) {
      throw new IllegalArgumentException("a completion queue of " + entries + " entries");
    }
    try {
      whileOpen(() -> context.verbs().ibv_resize_cq(address(), entries));
    } catch (VerbsException e) {
      throw e.errno() == Errno.EINVAL
          ? e.explained(
              "resizing "
                  + this
                  + " to "
                  + entries
                  + " entries: it holds more completions than that, or the device allows fewer")
          : e;
    }
  }

  /**
   * Delays events until there are several completions or some time went by: {@code ibv_modify_cq}.
   *
   * @param completions how many completions to collect; 0 to 65535
   * @param period how long to wait for them; whole microseconds, at most 65535
   */
  public void moderate(int completions, Duration period) {
    if (completions < 0 || completions > 0xffff) {
      throw new IllegalArgumentException(
          "moderation after " + completions + " completions: 0 to 65535 are possible");
    }
    if (period.isNegative()
        || period.compareTo(LONGEST_PERIOD) > 0
        || period.toNanos() % MICROSECOND != 0) {
      throw new IllegalArgumentException(
          "moderation for " + period + ": 0 to 65535 whole microseconds are possible");
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = ibv_modify_cq_attr.allocate(arena);
      ibv_modify_cq_attr.attr_mask(attr, rdma_h.IBV_CQ_ATTR_MODERATE());
      MemorySegment moderate = ibv_modify_cq_attr.moderate(attr);
      ibv_moderate_cq.cq_count(moderate, (short) completions);
      ibv_moderate_cq.cq_period(moderate, (short) (period.toNanos() / MICROSECOND));
      whileOpen(() -> context.verbs().ibv_modify_cq(address(), attr.address()));
    }
  }

  /**
   * Arms the completion queue: requests one completion event on its channel when the next work
   * completion is added ({@code ibv_req_notify_cq}). Work completions that are already in the queue
   * do not generate an event.
   *
   * @throws IllegalStateException if the queue has no completion channel
   */
  public void requestNotification() {
    requestNotification(0);
  }

  /**
   * Arms the completion queue for solicited events only: requests one completion event on its
   * channel when the next work completion is added that is of a receive request and was marked as
   * solicited by the sender, or that is unsuccessful ({@code ibv_req_notify_cq}).
   *
   * @throws IllegalStateException if the queue has no completion channel
   */
  public void requestSolicitedNotification() {
    requestNotification(1);
  }

  void requestNotification(int solicitedOnly) {
    hold();
    try {
      if (ibv_cq.channel(struct).address() == 0) {
        throw new IllegalStateException(this + " was created without a completion channel");
      }
      int errno = calls.ibv_req_notify_cq(solicitedOnly);
      if (errno != 0) {
        throw new VerbsException("ibv_req_notify_cq", errno, "on " + this);
      }
    } finally {
      letGo();
    }
  }

  /**
   * Where the queue announces completions.
   *
   * @return the channel, or empty if the queue is only polled
   */
  public Optional<CompletionChannel> channel() {
    return Optional.ofNullable(channel);
  }

  /**
   * Takes completions from the queue, as many as there are and {@code completions} holds: {@code
   * ibv_poll_cq}.
   *
   * @param completions where they are written
   * @return how many were taken; 0 if there are none
   */
  public int poll(Completions completions) {
    return poll(completions, completions.capacity());
  }

  /**
   * Takes completions from the queue, up to a number: {@code ibv_poll_cq}.
   *
   * @param completions where they are written
   * @param limit how many to take at most
   * @return how many were taken; 0 if there are none
   */
  public int poll(Completions completions, int limit) {
    completions.enter();
    try {
      if (BoundsChecks.ON) {
        if (!completions.isCheckedFor(this)) {
          completions.check(this);
        }
        if (limit < 0 || limit > completions.capacity()) {
          // Not called when all is well: C2 does not always inline it.
          Objects.checkFromIndexSize(0, limit, completions.capacity());
        }
      }
      return completions.polled(calls.ibv_poll_cq(limit, completions.address()), this);
    } finally {
      completions.leave();
    }
  }

  /**
   * Takes completions from the queue, up to a number, and hands each to a handler: {@code
   * ibv_poll_cq}. If the handler throws, it is still handed the others that were taken with the
   * same call of C; then its first exception is thrown, with later ones suppressed in it.
   *
   * @param handler told of each completion, in the queue's order
   * @param limit how many to take at most
   * @return how many were taken
   */
  public int poll(CompletionHandler handler, int limit) {
    Objects.requireNonNull(handler, "handler");
    if (limit < 0) {
      throw new IllegalArgumentException("a poll for " + limit + " completions");
    }
    Completions batch = spare.getAndSet(null);
    if (batch == null) {
      batch = new Completions(BATCH); // Another thread, or a handler that polls, has the spare.
    }
    try {
      int taken = 0;
      int wanted;
      int polled;
      do {
        wanted = Math.min(limit - taken, BATCH);
        polled = poll(batch, wanted);
        taken += polled;
        handOver(batch, polled, handler);
      } while (polled == wanted && taken < limit && isOpen()); // A handler may close the queue.
      return taken;
    } finally {
      spare.setRelease(batch);
    }
  }

  private static void handOver(Completions batch, int count, CompletionHandler handler) {
    Throwable failure = null;
    for (int i = 0; i < count; i++) {
      try {
        handler.completed(batch, i);
      } catch (Throwable t) {
        failure = BatchFailure.add(failure, t);
      }
    }
    BatchFailure.<RuntimeException>rethrow(failure);
  }

  /**
   * Refuses what would wait in C, for ever, for the lock that this thread keeps by its cursor. A
   * plain queue has none.
   *
   * @param action what was to be done, for the message
   */
  void requireNoCursor(String action) {}

  /**
   * The context that the queue was made from.
   *
   * @return the context
   */
  public Context context() {
    return context;
  }

  @Override
  public String toString() {
    return "completion queue of " + context.device();
  }
}
