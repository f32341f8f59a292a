package dev.verbena.cm;

import dev.verbena.VerbsException;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.Librdmacm;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.life.Core;
import dev.verbena.raw.rdma_cm_event;
import dev.verbena.raw.rdma_cm_id;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Resource;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A {@code rdma_cm_id}: its struct, the calls of librdmacm on it, its event channel, its multicast
 * groups, and its destruction.
 *
 * <p>Calls on an identifier with a channel hold the lock of the channel. Without a channel
 * (synchronous mode) librdmacm waits inside the call for its event; a second call during this time
 * throws.
 */
final class NativeId {
  /** A call of librdmacm on an open identifier. */
  interface Call {
    void on(Librdmacm rdmacm, long id);
  }

  private final Librdmacm rdmacm;
  private final MemorySegment struct;
  private final boolean endpoint;
  private final JoinedGroups groups;

  /** The Java object of the identifier, by which the channel knows it. */
  private @Nullable Resource owner;

  /** Receives the events that calls in synchronous mode wait for. */
  private Consumer<MemorySegment> events = event -> {};

  /** Keeps the context of the device open, once the identifier was asked for it. */
  private final AtomicReference<@Nullable Core> use = new AtomicReference<>();

  /** Null in synchronous mode, where librdmacm waits on an internal channel. */
  private volatile @Nullable NativeChannel channel;

  /** Whether the connection is established, by the events that were read. */
  private volatile boolean connected;

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
   * Sets the Java object of the identifier.
   *
   * @param object the object, which closes the identifier
   * @param sink receives the events that calls in synchronous mode wait for
   */
  void belongTo(Resource object, Consumer<MemorySegment> sink) {
    owner = object;
    events = sink;
    NativeChannel current = channel;
    if (current != null) {
      current.add(address(), object);
    }
  }

  /** Returns the Java object of the identifier. */
  Resource owner() {
    return owner;
  }

  Librdmacm rdmacm() {
    return rdmacm;
  }

  long address() {
    return struct.address();
  }

  /** Returns the address of the struct of an open identifier. */
  long pointer() {
    return owner.segment().address();
  }

  /** Returns the struct of an open identifier. */
  MemorySegment struct() {
    pointer();
    return struct;
  }

  /** Returns the groups to leave before the queue pair is destroyed. */
  JoinedGroups groups() {
    return groups;
  }

  boolean hasChannel() {
    return channel != null;
  }

  // The struct

  /** Reads the struct of an open identifier, which cannot be destroyed meanwhile. */
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

  /**
   * Returns the {@code ibv_context} of an identifier that is not yet published to other threads.
   */
  MemorySegment device() {
    return rdma_cm_id.verbs(struct);
  }

  boolean hasDevice() {
    return read(rdma_cm_id::verbs).address() != 0;
  }

  void requireDevice() {
    if (!hasDevice()) {
      throw new IllegalStateException(
          owner + " has no device: bind it to the address of a device, or resolve an address");
    }
  }

  /** Returns the context of the device: the same until that or the identifier is closed. */
  Context context() {
    requireDevice();
    Core known = use.get();
    while (known == null || !known.isOpen()) {
      Core ended = known;
      Core.of(owner).whileOpen(() -> use(ended));
      known = use.get();
    }
    return known.parents(Context.class).getFirst();
  }

  private void use(@Nullable Core ended) {
    Core begun = Contexts.use(rdmacm, read(rdma_cm_id::verbs), this);
    if (!use.compareAndSet(ended, begun)) {
      begun.close(); // Another thread was faster.
    }
  }

  boolean hasQueuePair() {
    return read(rdma_cm_id::qp).address() != 0;
  }

  void requireNoQueuePair(String why) {
    if (hasQueuePair()) {
      throw new IllegalStateException(owner + " has a queue pair: " + why);
    }
  }

  /** Records that the connection was established, or has ended. */
  void connected(boolean established) {
    connected = established;
  }

  /**
   * Disconnects. librdmacm waits in synchronous mode for an event that does not follow without a
   * connection.
   */
  void disconnect() {
    call(
        "disconnecting",
        (cm, id) -> {
          if (!hasChannel() && !connected) {
            throw new IllegalStateException(owner + " is not connected");
          }
          cm.rdma_disconnect(id);
        });
  }

  // Calls

  /**
   * Calls librdmacm; the identifier cannot be destroyed meanwhile. Adds the operation and the
   * identifier to a failure.
   */
  void call(String doing, Call call) {
    try {
      call(call);
    } catch (VerbsException e) {
      throw Explanation.add(e, doing + " of " + owner);
    }
  }

  /** Calls librdmacm; the identifier cannot be destroyed meanwhile. */
  void call(Call call) {
    if (hasChannel()) {
      whileNobodyReads(() -> call.on(rdmacm, pointer()));
    } else {
      callAndWait(call);
    }
  }

  /** Calls librdmacm if the identifier is open, and ignores failures. */
  void callQuietly(Call call) {
    whileNobodyReads(
        () -> {
          if (owner.isOpen()) {
            try {
              call.on(rdmacm, address());
            } catch (VerbsException e) {
              // The state was reached already.
            }
          }
        });
  }

  /** Releases a resource of the struct, while the identifier may be closing. */
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
    pointer(); // The identifier must be open; it cannot be closed before leave().
    requireNobodyWaits();
    waiting = Thread.currentThread();
  }

  private synchronized void leave() {
    waiting = null;
  }

  /**
   * Throws if a thread waits in librdmacm: a second call would consume its event, and a close would
   * free its memory.
   */
  synchronized void requireNobodyWaits() {
    if (waiting != null) {
      throw new IllegalStateException(
          "thread " + waiting.getName() + " waits in librdmacm for an event of " + owner);
    }
  }

  /**
   * Copies the event that librdmacm waited for last, and acknowledges it. librdmacm would
   * acknowledge it only at the next wait; until then the listener of the event could not be closed,
   * nor the multicast group be left.
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
      // librdmacm failed to initialize the identifier that it created for a request, and does not
      // destroy it.
      rdmacm.rdma_destroy_id(subject);
    }
    int _ = rdmacm.rdma_ack_cm_event(event.address());
  }

  // Channels

  private void whileNobodyReads(Runnable action) {
    boolean done;
    do {
      done = whileNobodyReads(channel, action);
    } while (!done);
  }

  /** Returns false if the identifier migrated before the channel was locked. */
  private boolean whileNobodyReads(@Nullable NativeChannel supposed, Runnable action) {
    if (supposed == null) {
      action.run();
      return true;
    }
    try (var _ = supposed.reading().hold()) {
      if (supposed != channel) {
        return false;
      }
      action.run();
      return true;
    }
  }

  /**
   * Moves the identifier to another channel: {@code rdma_migrate_id}.
   *
   * @param source the expected current channel; null in synchronous mode
   * @param target the new channel; null for synchronous mode
   * @param moved called after the move
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

  /** Locks both channels, in an order that is the same for all threads. */
  private static void whileNobodyReads(
      @Nullable NativeChannel one, @Nullable NativeChannel other, Runnable action) {
    if (one == null || (other != null && other.address() < one.address())) {
      whileNobodyReads(other, one, action);
      return;
    }
    try (var _ = one.reading().hold()) {
      if (other == null) {
        action.run();
      } else {
        whileNobodyReads(other, null, action);
      }
    }
  }

  @Override
  public String toString() {
    return String.valueOf(owner);
  }

  /** Leaves all groups and destroys the identifier. */
  void destroy() {
    callClosing(
        closing -> {
          groups.leaveAll();
          Core ended = use.get();
          if (ended != null) {
            ended.close();
          }
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
