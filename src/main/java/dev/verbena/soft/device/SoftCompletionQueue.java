package dev.verbena.soft.device;

import dev.verbena.Errno;
import dev.verbena.internal.foreign.Abi;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.time.Time;
import dev.verbena.raw.ibv_cq;
import dev.verbena.raw.ibv_wc;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.engine.Timer;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** A completion queue: a ring of work completions, which the engine fills and any thread polls. */
public final class SoftCompletionQueue extends SoftObject {
  private static final long HANDLE = Abi.current().offsetOf(ibv_cq.layout(), "handle");
  private static final int VENDOR_ERROR = 0x55;

  /** How long a thread polls an empty queue before it yields the processor. */
  private static final long NANOS_WITHOUT_YIELD = 20_000;

  /** The {@code struct efadv_cq}, or null. */
  public @Nullable MemorySegment efa;

  /** Whether it was created with timestamps of its completions. */
  public boolean hasTimestamps;

  public final @Nullable SoftChannel channel;

  /** Guards the ring. A monitor: a thread that waits for it allocates nothing. */
  private final Object lock = new Object();

  /** Held from {@code ibv_start_poll} to {@code ibv_end_poll}. */
  public final ReentrantLock polling = new ReentrantLock();

  /** What the poller that holds the lock reads. */
  public final Completion current = new Completion();

  private Completion[] ring;

  /** Whether the slot of the next completion has an object. */
  private boolean reserved;

  private long added;
  private long polled;

  /** How many completions wait; read without the lock to find an empty queue. */
  private volatile int size;

  /**
   * The time since which the queue was found empty without a yield of the processor; 0 if it was
   * not. Threads that poll overwrite each other's value.
   */
  private long emptySince;

  private boolean armed;
  private boolean solicitedOnly;
  private boolean overrun;
  private int unacknowledged;

  /** How many events of it wait in the channel. Guarded by the channel, as is the link. */
  int events;

  /** The next queue that has events in the channel. */
  @Nullable SoftCompletionQueue nextWithEvents;

  /** Moderation: an event is due after so many completions, or so long after the first. */
  private int moderateCount;

  private long moderateNanos;
  private int sinceEvent;
  private final Timer moderation;
  private final LateCompletions late;

  public SoftCompletionQueue(
      SoftContext context, CStruct struct, @Nullable SoftChannel channel, int capacity) {
    super(context, struct, context, channel);
    this.channel = channel;
    ring = new Completion[capacity];
    late = new LateCompletions(this, device.delays);
    moderation = new Timer(device.engine.timers(), this::announceModerated);
  }

  /** The queue whose {@code ibv_cq} is at an address, or null. */
  public static @Nullable SoftCompletionQueue at(long address) {
    return Registry.byHandle(address, HANDLE) instanceof SoftCompletionQueue queue ? queue : null;
  }

  /** Changes the capacity; false if more completions wait than that. */
  public boolean resize(int capacity) {
    synchronized (lock) {
      if (capacity < added - polled) {
        return false;
      }
      Completion[] larger = new Completion[capacity];
      for (long i = polled; i < added; i++) {
        larger[(int) (i - polled)] = ring[(int) (i % ring.length)];
      }
      added -= polled;
      polled = 0;
      ring = larger;
      reserved = false;
      return true;
    }
  }

  /**
   * Lets the next {@link #add} succeed although the Java heap may be full: called before a work
   * request ends, so that it cannot end without a completion.
   */
  public void reserve() {
    if (!reserved) {
      synchronized (lock) {
        int slot = (int) (added % ring.length);
        if (ring[slot] == null) {
          ring[slot] = new Completion();
        }
        reserved = true;
      }
    }
  }

  /** Adds a copy of a completion. */
  public void add(Completion completion, boolean solicited) {
    if (!late.keep(completion, solicited) && enqueue(completion, solicited)) {
      announce();
    }
  }

  /** Adds a copy of a completion; true if an event is due. */
  boolean enqueue(Completion completion, boolean solicited) {
    synchronized (lock) {
      if (added - polled == ring.length || overrun) {
        overrun();
        return false;
      }
      reserve();
      int slot = (int) (added++ % ring.length);
      reserved = ring[(int) (added % ring.length)] != null;
      ring[slot].copyOf(completion);
      if (completion.late != null) {
        completion.late.write();
      }
      if (hasTimestamps) {
        long now = Time.now(); // That of the engine is when its turn began.
        ring[slot].timestamp = device.ticks(now);
        ring[slot].wallClock = device.wallClock(now);
      }
      size = (int) (added - polled);
      boolean failed = completion.status != rdma_h.IBV_WC_SUCCESS();
      boolean event = armed && channel != null && (!solicitedOnly || solicited || failed);
      if (event) {
        event = isDue(failed);
      }
      if (event) {
        armed = false;
      }
      return event;
    }
  }

  /** Applies moderation to an event. */
  private boolean isDue(boolean failed) {
    if (moderateCount <= 1 || failed) {
      return true;
    }
    if (++sinceEvent >= moderateCount) {
      return true;
    }
    if (moderateNanos > 0 && !moderation.isRunning()) {
      moderation.start(device.engine.now() + moderateNanos);
    }
    return false;
  }

  private void announceModerated() {
    boolean event;
    synchronized (lock) {
      event = armed;
      armed = false;
    }
    if (event) {
      announce();
    }
  }

  void announce() {
    sinceEvent = 0;
    moderation.stop();
    channel.add(this);
  }

  private void overrun() {
    if (!overrun) {
      overrun = true;
      context.events.add(rdma_h.IBV_EVENT_CQ_ERR(), this);
    }
  }

  public void moderate(int count, int periodMicroseconds) {
    synchronized (lock) {
      moderateCount = count;
      moderateNanos = periodMicroseconds * 1000L;
    }
  }

  /** {@code ibv_req_notify_cq}. */
  public void arm(boolean onlySolicited) {
    synchronized (lock) {
      solicitedOnly = onlySolicited && (!armed || solicitedOnly);
      armed = true;
    }
    device.engine.pollerLeaves();
  }

  /**
   * Runs a turn of the network's engine in this thread. Yields the processor at intervals: on a
   * host with few processors the peer would wait for the threads that poll.
   */
  @SuppressWarnings("ThreadPriorityCheck") // Only the speed depends on it.
  private void foundEmpty() {
    if (Time.simulation() != null) {
      return; // Its thread runs when the poller pauses.
    }
    device.engine.turnOfPoller();
    long now = Time.now();
    if (emptySince == 0) {
      emptySince = now;
    } else if (now - emptySince > NANOS_WITHOUT_YIELD) {
      emptySince = now;
      Time.yieldProcessor();
    }
  }

  /** {@code ibv_poll_cq}: a negative errno while the device cannot report a failure otherwise. */
  public int poll(int count, long wc) {
    if (size == 0) {
      foundEmpty();
      if (size == 0) {
        return device.engine.isFailing() ? -Errno.EIO : 0;
      }
    }
    emptySince = 0;
    synchronized (lock) {
      int taken = 0;
      while (taken < count && polled < added) {
        Completion next = ring[(int) (polled++ % ring.length)];
        write(next, wc + taken * ibv_wc.sizeof());
        next.freeSlot();
        taken++;
      }
      polledSome();
      return taken;
    }
  }

  /** Takes a completion; false if none waits. */
  public boolean poll(Completion into) {
    if (size == 0) {
      foundEmpty();
      if (size == 0) {
        return false;
      }
    }
    emptySince = 0;
    synchronized (lock) {
      if (polled == added) {
        return false;
      }
      into.copyOf(ring[(int) (polled++ % ring.length)]);
      into.freeSlot();
      polledSome();
      return true;
    }
  }

  /** An empty ring begins at its start again: only as many slots as are needed get an object. */
  private void polledSome() {
    if (polled == added) {
      polled = 0;
      added = 0;
      reserved = ring[0] != null;
    }
    size = (int) (added - polled);
  }

  private static void write(Completion c, long wc) {
    Memory.putLong(wc + ibv_wc.wr_id$offset(), c.wrId);
    Memory.putInt(wc + ibv_wc.status$offset(), c.status);
    Memory.putInt(wc + ibv_wc.opcode$offset(), c.opcode);
    Memory.putInt(wc + ibv_wc.vendor_err$offset(), vendorError(c));
    Memory.putInt(wc + ibv_wc.byte_len$offset(), c.length);
    Memory.putInt(wc + ibv_wc.imm_data$offset(), c.immediate);
    Memory.putInt(wc + ibv_wc.qp_num$offset(), c.queuePair);
    Memory.putInt(wc + ibv_wc.src_qp$offset(), c.sourceQueuePair);
    Memory.putInt(wc + ibv_wc.wc_flags$offset(), c.flags);
    Memory.putShort(wc + ibv_wc.pkey_index$offset(), (short) 0);
    Memory.putShort(wc + ibv_wc.slid$offset(), (short) c.sourceLid);
    // sl and dlid_path_bits are the low and the high byte.
    Memory.putShort(wc + ibv_wc.sl$offset(), (short) (c.serviceLevel | c.pathBits << 8));
  }

  public static int vendorError(Completion completion) {
    return completion.status == rdma_h.IBV_WC_SUCCESS() ? 0 : VENDOR_ERROR;
  }

  /** Runs an action when the completions that a queue pair has generated are in this queue. */
  public void after(Object owner, Runnable action) {
    late.after(owner, action);
  }

  /** Discards the completions of a queue pair that is reset or destroyed. */
  public void forget(Object owner) {
    late.forget(owner);
    synchronized (lock) {
      long kept = polled;
      for (long i = polled; i < added; i++) {
        Completion c = ring[(int) (i % ring.length)];
        if (owner.equals(c.owner)) {
          c.freeSlot();
        } else {
          int slot = (int) (kept++ % ring.length);
          ring[(int) (i % ring.length)] = ring[slot];
          ring[slot] = c;
        }
      }
      added = kept;
      reserved = false;
      size = (int) (added - polled);
    }
  }

  void eventTaken() {
    synchronized (channel) {
      unacknowledged++;
    }
  }

  /** {@code ibv_ack_cq_events}. */
  public void acknowledge(int events) {
    if (channel == null) {
      return;
    }
    synchronized (channel) {
      unacknowledged -= events;
      channel.notifyAll();
    }
  }

  /** Waits until all events that were taken are acknowledged, as {@code ibv_destroy_cq} does. */
  public void awaitAcknowledgements() {
    if (channel != null) {
      Waiting.until(channel, () -> unacknowledged <= 0);
    }
  }

  /** Ends its timers and events; those that were taken may be acknowledged later. */
  @Override
  public void end() {
    moderation.stop();
    late.stop();
    if (channel != null) {
      channel.forget(this);
    }
  }
}
