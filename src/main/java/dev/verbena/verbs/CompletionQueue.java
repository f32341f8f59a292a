package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.NativeFlag;
import dev.verbena.VerbsException;
import dev.verbena.internal.BoundsChecks;
import dev.verbena.internal.DirectPath;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.QueueMaker;
import dev.verbena.internal.Ranges;
import dev.verbena.internal.calls.CompletionQueueCalls;
import dev.verbena.internal.calls.NativeCompletionQueueCalls;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.foreign.Segments;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.life.DataPathEntry;
import dev.verbena.internal.life.ObjectText;
import dev.verbena.raw.ibv_cq;
import dev.verbena.raw.ibv_cq_init_attr_ex;
import dev.verbena.raw.ibv_moderate_cq;
import dev.verbena.raw.ibv_modify_cq_attr;
import dev.verbena.raw.rdma_h;
import dev.verbena.values.CompletionField;
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
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A completion queue: {@code struct ibv_cq}.
 *
 * {@snippet :
 * try (CompletionQueue queue = context.createCompletionQueue(128)) {
 *   Completions completions = new Completions(16);
 *   int count = queue.poll(completions);
 *   for (int i = 0; i < count; i++) {
 *     System.out.println(completions.describe(i));
 *   }
 * }
 * }
 *
 * <p>Polling never waits. To wait for completions, create the queue with a {@link
 * CompletionChannel}, or use a {@link CompletionWaiter}.
 *
 * <p>A queue may be polled by several threads, unless it was created with {@link
 * Builder#singleThreaded}. Closing it first closes the queue pairs that use it, then calls {@code
 * ibv_destroy_cq}. See {@code ibv_create_cq(3)} and {@code ibv_poll_cq(3)}.
 */
public sealed class CompletionQueue extends Resource permits ExtendedCompletionQueue {
  private static final System.Logger LOG = System.getLogger("dev.verbena");
  private static final long MICROSECOND = 1000;

  /** The maximum of a 16-bit number of microseconds. */
  private static final Duration LONGEST_PERIOD = Duration.ofNanos(0xffff * MICROSECOND);

  private final Context context;
  private final int handle;
  private final CompletionChannel channel;
  private final AtomicLong expected = new AtomicLong();
  private final AtomicBoolean warns;
  private volatile int requested;

  /** The number of completion events that were read from the channel. */
  private volatile long events;

  private final MemorySegment struct;

  /** Replaced when the queue becomes direct, which is before it can have a completion. */
  private volatile CompletionQueueCalls calls;

  private volatile Path path;

  /** Who polls the queue. */
  private enum Path {
    /** The first queue pair decides. */
    UNDECIDED,
    PROVIDER,
    DIRECT
  }

  /**
   * Creates the owner of a queue that was created by a C function.
   *
   * @param warns whether a warning is logged if its queue pairs can overrun it
   * @param requested the number of entries it was created for; 0 if another owner created it
   */
  @SuppressWarnings("this-escape") // The channel only stores the reference.
  CompletionQueue(
      Context context,
      @Nullable CompletionChannel channel,
      Core core,
      boolean warns,
      int requested) {
    super(core);
    this.handle = Memory.getInt(core.address() + ibv_cq.handle$offset());
    long address = core.address();
    this.context = context;
    this.channel = channel;
    this.warns = new AtomicBoolean(warns);
    this.requested = requested;
    this.struct = Memory.at(address, ibv_cq.sizeof());
    this.calls = new NativeCompletionQueueCalls(address, context.criticalCalls());
    this.path = Path.PROVIDER;
    CompletionEvents events = new CompletionEvents(context.verbs(), address, this);
    core.beforeClose(this::beforeClose);
    core.wrapDestruction(
        destroy -> {
          events.acknowledge();
          destroy.run();
          if (channel != null) {
            channel.remove(events);
          }
        });
    if (channel != null) {
      channel.add(events);
    }
  }

  /** A builder of a completion queue. Get one with {@link Context#completionQueue}. */
  public static final class Builder {
    private final Context context;
    private final int entries;
    private int vector;
    private CompletionChannel channel;
    private ProtectionDomain domain;
    private int flags;
    private boolean warns = true;
    private boolean isDirect;

    Builder(Context context, int entries) {
      this.context = context;
      this.entries = Ranges.positive(entries, "number of entries");
    }

    /**
     * Sets the completion vector, that is the interrupt of the completion events. The default is 0.
     *
     * @param vector the vector, 0 to {@link Context#completionVectors} - 1
     * @return this
     */
    public Builder vector(int vector) {
      this.vector = Objects.checkIndex(vector, context.completionVectors());
      return this;
    }

    /**
     * Sets the completion channel that receives the completion events. The default is none: the
     * queue can only be polled.
     *
     * @param channel a channel of the same context
     * @return this
     */
    public Builder channel(CompletionChannel channel) {
      Core.requireSame(context, channel, channel.context());
      this.channel = channel;
      return this;
    }

    /**
     * Sets the parent domain, whose allocators and thread domain the queue uses.
     *
     * @param domain a parent domain of the same context
     * @return this
     */
    public Builder parentDomain(ProtectionDomain domain) {
      Core.requireSame(context, domain, domain.context());
      this.domain = domain;
      return this;
    }

    /**
     * Declares that only one thread at a time polls the queue, so that the provider may omit locks:
     * {@code IBV_CREATE_CQ_ATTR_SINGLE_THREADED}. What it omits is up to the provider. libmlx5
     * omits the lock of {@code ibv_start_poll}, thus of a {@link CompletionCursor}, and keeps that
     * of {@code ibv_poll_cq}. The environment variable {@code MLX5_SINGLE_THREADED=1} removes the
     * locks of all queues of the process, a {@linkplain ThreadDomain thread domain} those of the
     * queue pairs that are created on its parent domain.
     *
     * @return this
     */
    public Builder singleThreaded() {
      flags |= rdma_h.IBV_CREATE_CQ_ATTR_SINGLE_THREADED();
      return this;
    }

    /**
     * Lets the queue overrun without an error: {@code IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN}. For
     * programs that exclude an overrun, or count completions otherwise.
     *
     * @return this
     */
    public Builder ignoreOverrun() {
      flags |= rdma_h.IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN();
      return this;
    }

    /**
     * Suppresses the warning that is logged when the queue pairs of this queue can have more work
     * requests outstanding than the queue holds. For programs that use unsignaled sends or limit
     * the number of outstanding work requests.
     *
     * @return this
     */
    public Builder withoutCapacityWarning() {
      warns = false;
      return this;
    }

    /**
     * Selects the direct data path: Java code reads the completion queue entries of the device and
     * posts to the queue pairs of this queue, without calls of libmlx5. The results are the same.
     * It exists for mlx5 on x86-64, and for queue pairs of type RC, UC and UD that were created
     * without {@link QueuePairBuilder#sendOperations} and without flags. A direct queue cannot be
     * {@linkplain CompletionQueue#resize resized}, and all queues of a queue pair must be direct,
     * or none.
     *
     * <p>{@code -Ddev.verbena.direct=auto} selects it for all completion queues whose first queue
     * pair can be direct.
     *
     * @return this
     * @see Context#directObstacle
     */
    public Builder direct() {
      isDirect = true;
      return this;
    }

    /**
     * Creates the queue: {@code ibv_create_cq}, or {@code ibv_create_cq_ex} if an option requires
     * it.
     *
     * @return the queue, to be closed
     * @throws VerbsException EOPNOTSUPP with the reason if {@link #direct} was called and is not
     *     possible
     */
    public CompletionQueue create() {
      boolean plain = flags == 0 && domain == null;
      return Core.make(
          parents(),
          () -> plain ? createPlain() : createExtended(0, maker()),
          maker().destruction(),
          core -> {
            CompletionQueue queue = new CompletionQueue(context, channel, core, warns(), entries);
            if (isDirect || DirectPath.isAutomatic()) {
              queue.path = Path.UNDECIDED;
            }
            if (isDirect) {
              queue.becomeDirect();
            }
            return queue;
          });
    }

    /**
     * Creates an extended completion queue: {@code ibv_create_cq_ex}.
     *
     * @param fields the fields of its completions
     * @return the queue, to be closed
     */
    public ExtendedCompletionQueue createExtended(CompletionField... fields) {
      return createExtended(maker(), fields);
    }

    /**
     * Creates an extended completion queue with another function than {@code ibv_create_cq_ex}.
     *
     * @param maker creates it from the address of a {@code struct ibv_cq_init_attr_ex}
     * @param fields the fields of its completions
     * @return the queue
     * @hidden
     */
    @SuppressWarnings({"exports", "InvalidBlockTag"}) // Programs cannot make the argument.
    public ExtendedCompletionQueue createExtended(QueueMaker maker, CompletionField... fields) {
      if (isDirect) {
        throw new IllegalStateException("an extended completion queue cannot be direct()");
      }
      Set<CompletionField> wanted = EnumSet.noneOf(CompletionField.class);
      wanted.addAll(List.of(fields));
      return Core.make(
          parents(),
          () -> createExtended(NativeFlag.mask(wanted), maker),
          maker.destruction(),
          core -> new ExtendedCompletionQueue(context, channel, core, warns(), entries, wanted));
    }

    private QueueMaker maker() {
      return new QueueMaker(
          attr -> context.verbs().ibv_create_cq_ex(context.address(), attr),
          context.verbs()::ibv_destroy_cq);
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

    private long createExtended(long fields, QueueMaker maker) {
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
        return maker.creation().applyAsLong(attr.address());
      } catch (VerbsException e) {
        throw explained(e);
      }
    }

    private boolean warns() {
      return warns && (flags & rdma_h.IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN()) == 0;
    }

    private VerbsException explained(VerbsException e) {
      if (e.errno() == Errno.EINVAL) {
        return Explanation.add(
            e,
            "a completion queue of %s entries on %s: the maximum is max_cqe, DeviceAttributes.maxCompletionQueueEntries()"
                .formatted(entries, context.device()));
      }
      return Explanation.addIfUnsupported(
          e, context.device() + " does not support an option of the completion queue");
    }
  }

  /**
   * {@return a queue that C code creates and destroys, for example librdmacm; closing it
   * acknowledges its events but does not destroy the C object}
   *
   * @param context the context of the queue
   * @param segment the {@code struct ibv_cq}
   * @throws IllegalArgumentException if the segment is shorter than the struct: with native access,
   *     {@link MemorySegment#reinterpret(long)} makes a pointer long enough
   */
  public static CompletionQueue borrow(Context context, MemorySegment segment) {
    long address = Segments.struct(segment, "ibv_cq", ibv_cq.sizeof());
    return Core.borrow(
        List.of(context), address, core -> new CompletionQueue(context, null, core, false, 0));
  }

  /**
   * {@return a queue that C code creates and destroys, and whose completion events are read here;
   * closing it acknowledges its events but does not destroy the C object}
   *
   * @param channel the completion channel of the queue
   * @param segment the {@code struct ibv_cq}
   * @throws IllegalArgumentException if the segment is shorter than the struct: with native access,
   *     {@link MemorySegment#reinterpret(long)} makes a pointer long enough
   */
  public static CompletionQueue borrow(CompletionChannel channel, MemorySegment segment) {
    long address = Segments.struct(segment, "ibv_cq", ibv_cq.sizeof());
    if (ibv_cq.channel(segment).address() != channel.address()) {
      throw new IllegalArgumentException("the completion queue does not use " + channel);
    }
    Context context = channel.context();
    return Core.borrow(
        List.of(context, channel),
        address,
        core -> new CompletionQueue(context, channel, core, false, 0));
  }

  /**
   * Adds the number of work requests that a queue pair can have outstanding, each of which may
   * generate a completion. Logs a warning once if the sum exceeds the capacity of the queue: an
   * overrun loses completions and is only reported by an asynchronous event.
   *
   * @param requests the number of requests; negative when the queue pair is destroyed
   */
  void expect(@Nullable Object queuePair, int requests) {
    long all = expected.addAndGet(requests);
    if (requests <= 0) {
      return;
    }
    // A provider may report fewer entries than were requested, and were granted.
    int capacity = Math.max(requested, capacity());
    if (all > capacity && warns.getAndSet(false)) {
      LOG.log(
          System.Logger.Level.WARNING,
          "%s holds %d completions, but its queue pairs, the last of which is %s, can have %d work requests"
                  .formatted(this, capacity, queuePair, all)
              + " outstanding: an overrun (IBV_EVENT_CQ_ERR) loses completions. Create it with as"
              + " many entries, or with withoutCapacityWarning() if fewer are signaled or"
              + " outstanding at a time");
    }
  }

  /**
   * Returns the maximum number of completions that the queue can hold.
   *
   * @return at least the number that was requested
   */
  public int capacity() {
    core.requireOpen();
    return ibv_cq.cqe(struct);
  }

  /**
   * Returns whether Java code polls the queue, and posts to its queue pairs: see {@link
   * Builder#direct}.
   *
   * @return true if it does; with {@code -Ddev.verbena.direct=auto}, false until the first queue
   *     pair of the queue is created
   */
  public boolean isDirect() {
    return path == Path.DIRECT;
  }

  boolean canBeDirect() {
    return path != Path.PROVIDER;
  }

  /** Returns the direct data path of the queue, which it has from now on. */
  CompletionQueueCalls directCalls() {
    if (path != Path.DIRECT) {
      becomeDirect();
    }
    return calls;
  }

  private void becomeDirect() {
    calls = context.directPath().completionQueue(address());
    path = Path.DIRECT;
  }

  /**
   * Leaves polling to the provider, if that is undecided.
   *
   * @throws IllegalStateException if the queue is direct
   */
  void settleForProvider() {
    synchronized (context.directPath()) {
      if (path == Path.DIRECT) {
        throw new IllegalStateException(
            this + " is direct: use another queue, or leave out -Ddev.verbena.direct");
      }
      path = Path.PROVIDER;
    }
  }

  /** Records that a completion event of the queue was read. */
  @SuppressWarnings("NonAtomicVolatileUpdate") // Events are counted under a lock.
  void wasNotified() {
    calls.wasNotified();
    events++; // Last: a waiter that sees it arms the queue again.
  }

  /** Returns the number of completion events that were read from the channel. */
  long events() {
    return events;
  }

  /**
   * Changes the capacity of the queue: {@code ibv_resize_cq}. The queue may be in use.
   *
   * @param entries the minimum number of completions; not less than the number of completions that
   *     are in the queue
   * @throws VerbsException EOPNOTSUPP if the queue is direct
   */
  public void resize(int entries) {
    var _ = Ranges.positive(entries, "number of entries");
    requireNotDirect();
    try {
      core.whileOpen(
          () -> {
            context.verbs().ibv_resize_cq(address(), entries);
            requested = entries;
          });
    } catch (VerbsException e) {
      throw e.errno() == Errno.EINVAL
          ? Explanation.add(
              e,
              "cannot resize %s to %s entries: the queue contains more completions, or the maximum of the device is smaller"
                  .formatted(this, entries))
          : e;
    }
  }

  private void requireNotDirect() {
    if (isDirect()) {
      throw new VerbsException(
          "ibv_resize_cq", Errno.EOPNOTSUPP, this + " is direct: create it with enough entries");
    }
    settleForProvider();
  }

  /**
   * Sets the moderation of completion events: an event is generated after a number of completions
   * or a time, whichever is first ({@code ibv_modify_cq}).
   *
   * @param completions the number of completions, 0 to 65535
   * @param period the time, 0 to 65535 whole microseconds
   */
  public void moderate(int completions, Duration period) {
    if (completions < 0 || completions > 0xffff) {
      throw new IllegalArgumentException(
          "number of completions must be 0 to 65535: " + completions);
    }
    if (period.isNegative()
        || period.compareTo(LONGEST_PERIOD) > 0
        || period.toNanos() % MICROSECOND != 0) {
      throw new IllegalArgumentException("period must be 0 to 65535 whole microseconds: " + period);
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = ibv_modify_cq_attr.allocate(arena);
      ibv_modify_cq_attr.attr_mask(attr, rdma_h.IBV_CQ_ATTR_MODERATE());
      MemorySegment moderate = ibv_modify_cq_attr.moderate(attr);
      ibv_moderate_cq.cq_count(moderate, (short) completions);
      ibv_moderate_cq.cq_period(moderate, (short) (period.toNanos() / MICROSECOND));
      core.whileOpen(() -> context.verbs().ibv_modify_cq(address(), attr.address()));
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
    core.hold();
    try {
      if (ibv_cq.channel(struct).address() == 0) {
        throw new IllegalStateException(this + " was created without a completion channel");
      }
      int errno = calls.ibv_req_notify_cq(solicitedOnly);
      if (errno != 0) {
        throw new VerbsException("ibv_req_notify_cq", errno, "on " + this);
      }
    } finally {
      core.endHold();
    }
  }

  /**
   * Returns the completion channel of the queue.
   *
   * @return the channel, or empty if the queue is only polled
   */
  public Optional<CompletionChannel> channel() {
    return Optional.ofNullable(channel);
  }

  /**
   * Polls the queue for up to {@link Completions#capacity} work completions: {@code ibv_poll_cq}.
   *
   * @param completions the object that receives the completions
   * @return the number of completions; 0 if the queue is empty
   */
  public int poll(Completions completions) {
    return poll(completions, completions.capacity());
  }

  /**
   * Polls the queue for up to a number of work completions: {@code ibv_poll_cq}.
   *
   * @param completions the object that receives the completions
   * @param limit the maximum number of completions
   * @return the number of completions; 0 if the queue is empty
   */
  public int poll(Completions completions, int limit) {
    DataPathEntry entry = completions.user.enter();
    try {
      if (BoundsChecks.ON) {
        if (!completions.user.isCheckedFor(core)) {
          completions.check(this);
        }
        if (limit < 0 || limit > completions.capacity()) {
          // Not called when all is well: C2 does not always inline it.
          Objects.checkFromIndexSize(0, limit, completions.capacity());
        }
      }
      return completions.polled(calls.ibv_poll_cq(limit, completions.address()), this);
    } finally {
      entry.leave();
    }
  }

  /**
   * Throws an exception if this thread holds the lock of the queue by its cursor, as the operation
   * would wait for that lock forever. A queue that is not extended has no cursor.
   *
   * @param action the operation, for the message
   */
  void requireNoCursor(String action) {}

  void beforeClose() {
    if (channel != null) {
      channel.endWaits();
    }
  }

  /** {@return the context of the queue} */
  public Context context() {
    return context;
  }

  @Override
  public String toString() {
    return ObjectText.of(
        core,
        "completion queue " + handle + " of " + context.device(),
        ObjectText.ifOpen(core, () -> ibv_cq.cqe(struct) + " entries"));
  }
}
