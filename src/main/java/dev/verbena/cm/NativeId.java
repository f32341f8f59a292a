package dev.verbena.cm;

import dev.verbena.VerbsException;
import dev.verbena.internal.Librdmacm;
import dev.verbena.internal.Memory;
import dev.verbena.raw.rdma_cm_event;
import dev.verbena.raw.rdma_cm_id;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Resource;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One {@code rdma_cm_id}: its struct, the calls of librdmacm on it, the channel that it reports its
 * events on, the groups it is in, and how it is given back.
 *
 * <p>Calls on an identifier with a channel hold the channel's lock. Without a channel (synchronous
 * mode) librdmacm waits inside the call for its event, and nothing else may be done to the
 * identifier meanwhile: a second call is refused.
 */
final class NativeId {
  /** A call of librdmacm, on an identifier that is open. */
  interface Call {
    void on(Librdmacm rdmacm, long id);
  }

  private final Librdmacm rdmacm;
  private final MemorySegment struct;
  private final boolean endpoint;
  private final JoinedGroups groups;

  /** What the identifier belongs to: it is open as long as that is. */
  private @Nullable Resource owner;

  /** Takes the events that calls in synchronous mode wait for. */
  private Consumer<MemorySegment> events = event -> {};

  /** Null in synchronous mode, where librdmacm waits on a channel of its own. */
  private volatile @Nullable NativeChannel channel;

  /** The thread that waits in librdmacm in synchronous mode, or null. */
  private @Nullable Thread waiting;

  NativeId(Librdmacm rdmacm, long address, @Nullable NativeChannel channel, boolean endpoint) {
    this.rdmacm = rdmacm;
    this.struct = Memory.at(address, rdma_cm_id.sizeof());
    this.channel = channel;
    this.endpoint = endpoint;
    this.groups = new JoinedGroups(rdmacm, address);
  }

  /**
   * Says what the identifier belongs to.
   *
   * @param object the object that closes it
   * @param sink takes the events that calls in synchronous mode wait for
   */
  void belongTo(Resource object, Consumer<MemorySegment> sink) {
    owner = object;
    events = sink;
    NativeChannel current = channel;
    if (current != null) {
      current.add(address(), object);
    }
  }

  /** The object that the identifier belongs to. */
  Resource owner() {
    return owner;
  }

  Librdmacm rdmacm() {
    return rdmacm;
  }

  long address() {
    return struct.address();
  }

  /** The struct's address, of an identifier that is open. */
  long pointer() {
    return owner.segment().address();
  }

  /** The struct, of an identifier that is open. */
  MemorySegment struct() {
    pointer();
    return struct;
  }

  /** The groups to leave before the queue pair is given back. */
  JoinedGroups groups() {
    return groups;
  }

  boolean hasChannel() {
    return channel != null;
  }

  // What the struct says

  /** Reads the struct of an identifier that is open, while nobody can give it back. */
  <T> T read(Function<MemorySegment, T> reader) {
    AtomicReference<T> result = new AtomicReference<>();
    whileNobodyReads(
        () -> {
          synchronized (this) {
            result.set(reader.apply(struct()));
          }
        });
    return result.get();
  }

  /** The {@code ibv_context} of the device, of an identifier that nobody else knows yet. */
  MemorySegment device() {
    return rdma_cm_id.verbs(struct);
  }

  boolean hasDevice() {
    return read(rdma_cm_id::verbs).address() != 0;
  }

  void requireDevice() {
    if (!hasDevice()) {
      throw new IllegalStateException(
          owner + " has no device yet: bind it to a device's address, or resolve an address");
    }
  }

  /** The context of the device. */
  Context context() {
    requireDevice();
    return Contexts.at(read(rdma_cm_id::verbs));
  }

  boolean hasQueuePair() {
    return read(rdma_cm_id::qp).address() != 0;
  }

  void requireNoQueuePair(String why) {
    if (hasQueuePair()) {
      throw new IllegalStateException(owner + " has a queue pair: " + why);
    }
  }

  // Calls

  /** Calls librdmacm while nobody gives the identifier back, and says more about a failure. */
  void call(String doing, Call call) {
    try {
      call(call);
    } catch (VerbsException e) {
      throw e.explained(doing + " of " + owner);
    }
  }

  /** Calls librdmacm while nobody gives the identifier back. */
  void call(Call call) {
    if (hasChannel()) {
      whileNobodyReads(() -> call.on(rdmacm, pointer()));
    } else {
      callAndWait(call);
    }
  }

  /** Calls librdmacm if the identifier is open, and heeds no failure. */
  void callQuietly(Call call) {
    whileNobodyReads(
        () -> {
          if (owner.isOpen()) {
            try {
              call.on(rdmacm, address());
            } catch (VerbsException e) {
              // There was nothing to do any more.
            }
          }
        });
  }

  /** Gives something of the struct back, while the identifier may already be closing. */
  void callClosing(Consumer<MemorySegment> release) {
    whileNobodyReads(
        () -> {
          synchronized (this) {
            requireNobodyWaits();
            release.accept(struct);
          }
        });
  }

  private void callAndWait(Call call) {
    enter();
    try {
      try {
        call.on(rdmacm, pointer());
      } finally {
        takeEvent(events);
      }
    } finally {
      leave();
    }
  }

  private synchronized void enter() {
    pointer(); // It must be open, and stays so until it is left.
    requireNobodyWaits();
    waiting = Thread.currentThread();
  }

  private synchronized void leave() {
    waiting = null;
  }

  /**
   * Refuses what would interfere with a thread that waits in librdmacm: a second call, which would
   * take the first one's event, and a close.
   */
  synchronized void requireNobodyWaits() {
    if (waiting != null) {
      throw new IllegalStateException(
          "thread " + waiting.getName() + " waits in librdmacm for an event of " + owner);
    }
  }

  /**
   * Copies the event that librdmacm waited for last, and acknowledges it. librdmacm itself would
   * keep it until it waits for the next one; and as long as it does, the listener that was asked
   * cannot be closed, nor the group left that was joined.
   */
  void takeEvent(Consumer<MemorySegment> sink) {
    MemorySegment pointer = rdma_cm_id.event(struct);
    if (pointer.address() == 0) {
      return;
    }
    MemorySegment event = Memory.at(pointer.address(), rdma_cm_event.sizeof());
    sink.accept(event);
    rdma_cm_id.event(struct, MemorySegment.NULL);
    long subject = rdma_cm_event.id(event).address();
    if (subject != address()) {
      // librdmacm could not equip the identifier that it made for a request, and forgets it.
      rdmacm.rdma_destroy_id(subject);
    }
    rdmacm.rdma_ack_cm_event(event.address());
  }

  // Channels

  private void whileNobodyReads(Runnable action) {
    boolean done;
    do {
      done = whileNobodyReads(channel, action);
    } while (!done);
  }

  /** False if the identifier has left the channel before that could be locked. */
  private boolean whileNobodyReads(@Nullable NativeChannel supposed, Runnable action) {
    if (supposed == null) {
      action.run();
      return true;
    }
    supposed.reading().lock();
    try {
      if (supposed != channel) {
        return false;
      }
      action.run();
      return true;
    } finally {
      supposed.reading().unlock();
    }
  }

  /**
   * Reports elsewhere from now on: {@code rdma_migrate_id}.
   *
   * @param source where it is supposed to report; null in synchronous mode
   * @param target null for a channel of librdmacm's own
   * @param moved told when it has moved
   */
  void migrate(@Nullable NativeChannel source, @Nullable NativeChannel target, Runnable moved) {
    whileNobodyReads(
        source,
        target,
        () -> {
          synchronized (this) {
            requireNobodyWaits();
            move(source, target);
            moved.run();
          }
        });
  }

  private void move(@Nullable NativeChannel source, @Nullable NativeChannel target) {
    if (channel != source) {
      throw new IllegalStateException(owner + " is being migrated by another thread");
    }
    rdmacm.rdma_migrate_id(pointer(), target == null ? 0 : target.address());
    if (source != null) {
      source.remove(address());
    }
    channel = target;
    if (target != null) {
      target.add(address(), owner);
    }
  }

  /** Takes the locks of both channels, in an order that all threads share. */
  private static void whileNobodyReads(
      @Nullable NativeChannel one, @Nullable NativeChannel other, Runnable action) {
    if (one == null || (other != null && other.address() < one.address())) {
      whileNobodyReads(other, one, action);
      return;
    }
    ReentrantLock first = one.reading();
    first.lock();
    try {
      if (other == null) {
        action.run();
      } else {
        whileNobodyReads(other, null, action);
      }
    } finally {
      first.unlock();
    }
  }

  @Override
  public String toString() {
    return String.valueOf(owner);
  }

  /** Leaves all groups and gives the identifier back. */
  void destroy() {
    callClosing(
        closing -> {
          groups.leaveAll();
          if (endpoint) {
            rdmacm.rdma_destroy_ep(address());
          } else {
            rdmacm.rdma_destroy_id(address());
          }
          NativeChannel current = channel;
          if (current != null) {
            current.remove(address());
          }
        });
  }
}
