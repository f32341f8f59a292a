package dev.verbena.cm;

import dev.verbena.VerbsException;
import dev.verbena.internal.Librdmacm;
import dev.verbena.internal.Memory;
import dev.verbena.internal.Provider;
import dev.verbena.raw.rdma_cm_event;
import dev.verbena.raw.rdma_cm_id;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePairCapacity;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * librdmacm's synchronous mode: an identifier without an event channel, whose operations wait in C
 * for their outcome, with no end but the outcome, and fail with the errno that librdmacm makes of
 * the event. {@link Endpoint} waits better.
 *
 * <p>Nothing wakes a thread that waits in C: closing the identifier meanwhile is refused with an
 * {@link IllegalStateException}, and so are closing what it was made on, and a call by another
 * thread on the same identifier.
 */
public final class SynchronousMode {
  private final ConnectionId id;
  private final HomeDomain home;
  private final MemorySegment struct;

  /** How much the queue pair of each request must hold; null for no queue pair. */
  private final QueuePairCapacity capacity;

  /** The thread that is inside a call of librdmacm, or null. */
  private Thread inside;

  private volatile ConnectionEvent lastEvent;

  SynchronousMode(
      ConnectionId id, HomeDomain home, MemorySegment struct, QueuePairCapacity capacity) {
    this.id = id;
    this.home = home;
    this.struct = struct;
    this.capacity = capacity;
  }

  /**
   * Makes an identifier in synchronous mode: {@code rdma_create_id} without a channel.
   *
   * @param portSpace the kind of service
   * @return an identifier, to be closed
   */
  public static ConnectionId createId(PortSpace portSpace) {
    return createId(Provider.system().rdmacm(), portSpace);
  }

  static ConnectionId createId(Librdmacm rdmacm, PortSpace portSpace) {
    long address = ConnectionId.newId(rdmacm, 0, Objects.requireNonNull(portSpace, "portSpace"));
    return ConnectionId.synchronous(new NativeId(rdmacm, address, null, false), null, null);
  }

  /**
   * Makes an identifier in synchronous mode, ready to connect or to listen, from what a name was
   * resolved to: {@code rdma_create_ep}.
   *
   * @param info the address, and what it is for
   * @param domain the domain of the queue pair; null for librdmacm's own
   * @param capacity how much the queue pair must hold, of a listener's each request; null for no
   *     queue pair
   * @return an identifier, to be closed
   * @throws VerbsException what became of the address or route
   */
  public static ConnectionId createEndpoint(
      AddressInfo info, @Nullable ProtectionDomain domain, @Nullable QueuePairCapacity capacity) {
    Librdmacm rdmacm = Provider.system().rdmacm();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr =
          capacity == null
              ? MemorySegment.NULL
              : ConnectionQueues.attributes(arena, capacity, false);
      MemorySegment pointer = arena.allocate(ValueLayout.JAVA_LONG);
      long pd = domain == null ? 0 : domain.segment().address();
      try {
        rdmacm.rdma_create_ep(pointer.address(), info.write(arena).address(), pd, attr.address());
      } catch (VerbsException e) {
        throw e.explained("making an endpoint " + info);
      }
      long address = pointer.get(ValueLayout.JAVA_LONG, 0);
      return ConnectionId.synchronous(new NativeId(rdmacm, address, null, true), domain, capacity);
    }
  }

  /**
   * Waits in C for a peer: {@code rdma_get_request}.
   *
   * @return an identifier in synchronous mode, to be accepted or rejected, and closed; it has a
   *     queue pair if the listener was made with a capacity, on the domain that the listener was
   *     made with
   * @throws IllegalStateException if this identifier reports on an event channel, or does not
   *     listen
   */
  public ConnectionId takeRequest() {
    if (id.channel().isPresent()) {
      throw new IllegalStateException(id + " reports requests on its event channel");
    }
    if (!id.isListening()) {
      throw new IllegalStateException(id + " does not listen, so no request can come: call listen");
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment pointer = arena.allocate(ValueLayout.JAVA_LONG);
      id.call(
          "taking a request", () -> id.rdmacm().rdma_get_request(id.pointer(), pointer.address()));
      long address = pointer.get(ValueLayout.JAVA_LONG, 0);
      MemorySegment made = Memory.at(address, rdma_cm_id.sizeof());
      ConnectionId request =
          ConnectionId.synchronous(
              new NativeId(id.rdmacm(), address, null, true),
              home.given(rdma_cm_id.verbs(made)),
              capacity);
      request.synchronous().keepEvent(id);
      return request;
    }
  }

  /**
   * The last event of an identifier in synchronous mode, with what the peer sent along.
   *
   * @return the event, or empty if there is none, as always outside of synchronous mode
   */
  public Optional<ConnectionEvent> lastEvent() {
    return id.channel().isPresent() ? Optional.empty() : Optional.ofNullable(lastEvent);
  }

  // What waits in C

  /** Calls C, which waits for an event, and keeps the event. */
  void run(Runnable call) {
    enter();
    try {
      try {
        call.run();
      } finally {
        keepEvent(null);
      }
    } finally {
      leave();
    }
  }

  private synchronized void enter() {
    id.pointer(); // It must be open, and stays so until it is left.
    requireNobodyWaits();
    inside = Thread.currentThread();
  }

  private synchronized void leave() {
    inside = null;
  }

  /** Runs what takes something away that a call of librdmacm may use. */
  synchronized void whileNobodyWaits(Runnable release) {
    requireNobodyWaits();
    release.run();
  }

  /**
   * Refuses what would interfere with a thread that waits in librdmacm: a second call, which would
   * take the first one's event, and a close.
   */
  synchronized void requireNobodyWaits() {
    if (inside != null) {
      throw new IllegalStateException(
          "thread " + inside.getName() + " waits in librdmacm for an event of " + id);
    }
  }

  /**
   * Copies the event that C waited for last, and acknowledges it. C itself would keep it until it
   * waits for the next one; and as long as it does, the listener that was asked cannot be closed,
   * nor the group left that was joined.
   *
   * @param listener who was asked, if the event is a peer's request
   */
  private void keepEvent(ConnectionId listener) {
    MemorySegment pointer = rdma_cm_id.event(struct);
    if (pointer.address() == 0) {
      return;
    }
    MemorySegment event = Memory.at(pointer.address(), rdma_cm_event.sizeof());
    lastEvent = ConnectionEvent.copy(event, id, listener);
    rdma_cm_id.event(struct, MemorySegment.NULL);
    long subject = rdma_cm_event.id(event).address();
    if (subject != struct.address()) {
      // C could not equip the identifier that it made for a request, and forgets it.
      id.rdmacm().rdma_destroy_id(subject);
    }
    id.rdmacm().rdma_ack_cm_event(event.address());
  }
}
