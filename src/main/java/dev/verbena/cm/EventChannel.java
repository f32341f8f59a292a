package dev.verbena.cm;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.Inside;
import dev.verbena.internal.Librdmacm;
import dev.verbena.internal.Providers;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.io.Readiness;
import dev.verbena.internal.io.ServiceLoop;
import dev.verbena.internal.jfr.FlightEvents;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.life.ObjectText;
import dev.verbena.raw.rdma_cm_event;
import dev.verbena.raw.rdma_event_channel;
import dev.verbena.verbs.Resource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * An event channel: delivers the events of one or more identifiers ({@code struct
 * rdma_event_channel}).
 *
 * <p>{@link #open()} creates it, {@link #createId} its identifiers:
 *
 * {@snippet :
 * try (EventChannel channel = EventChannel.open()) {
 *   ConnectionId id = channel.createId(PortSpace.TCP);
 *   id.resolveAddress(null, server, Duration.ofSeconds(2));
 *   ConnectionEvent event = channel.take(); // ADDR_RESOLVED or ADDR_ERROR
 * }
 * }
 *
 * <p>Events are delivered in order. Each is copied and acknowledged ({@code rdma_ack_cm_event})
 * when it is read: closing an identifier does not wait for acknowledgements.
 *
 * <p><b>Threads.</b> Any number of threads may read events; each event is returned to one of them.
 * A wait ends with an event, when the timeout expires, when the thread is interrupted ({@link
 * InterruptedException}), and when the channel is closed ({@link IllegalStateException}). A waiting
 * virtual thread does not occupy its carrier.
 *
 * <p><b>Closing.</b> {@link #close()} closes the identifiers of the channel, then destroys it
 * ({@code rdma_destroy_event_channel}).
 *
 * <p>Manual pages: {@code rdma_create_event_channel(3)}, {@code rdma_get_cm_event(3)}.
 */
public final class EventChannel extends Resource {
  private final NativeChannel channel;
  private final int descriptor;
  private final boolean ofEndpoints;
  private final MemorySegment eventPointer;

  private @Nullable Readiness readiness;

  private EventChannel(
      Core core,
      NativeChannel channel,
      int descriptor,
      MemorySegment eventPointer,
      boolean ofEndpoints) {
    super(core);
    core.beforeClose(this::endWaits);
    this.channel = channel;
    this.descriptor = descriptor;
    this.eventPointer = eventPointer;
    this.ofEndpoints = ofEndpoints;
  }

  /**
   * Opens a channel: {@code rdma_create_event_channel}.
   *
   * @return the channel, to be closed by the caller
   * @throws VerbsException ENODEV or ENOENT if the kernel module {@code rdma_ucm} is not loaded;
   *     EMFILE if the process has no more file descriptors
   */
  public static EventChannel open() {
    return open(Providers.system().rdmacm());
  }

  static EventChannel open(Librdmacm rdmacm) {
    return open(rdmacm, false);
  }

  /** Opens a channel that only the library reads and closes. */
  static EventChannel ofEndpoints(Librdmacm rdmacm) {
    return open(rdmacm, true);
  }

  private static EventChannel open(Librdmacm rdmacm, boolean ofEndpoints) {
    // If no native memory is left, this fails before C has created anything.
    MemorySegment eventPointer = Arena.ofAuto().allocate(ValueLayout.JAVA_LONG);
    long address;
    try {
      address = rdmacm.rdma_create_event_channel();
    } catch (VerbsException e) {
      throw e.errno() == Errno.EMFILE
          ? e
          : Explanation.add(
              e, "is the kernel module rdma_ucm loaded, and is there an RDMA device?");
    }
    int descriptor = rdma_event_channel.fd(Memory.at(address, rdma_event_channel.sizeof()));
    // librdmacm would otherwise wait for the next event after one that it discards.
    Readiness.setNonBlocking(descriptor);
    NativeChannel channel = new NativeChannel(rdmacm, address);
    return Core.adopt(
        List.of(),
        address,
        pointer -> channel.destroy(),
        core -> new EventChannel(core, channel, descriptor, eventPointer, ofEndpoints));
  }

  /**
   * Creates an identifier whose events this channel delivers: {@code rdma_create_id}.
   *
   * @param portSpace the port space
   * @return the identifier; closing the channel closes it
   */
  public ConnectionId createId(PortSpace portSpace) {
    return ConnectionId.create(this, Objects.requireNonNull(portSpace, "portSpace"));
  }

  /**
   * Returns a pending event without waiting: {@code rdma_get_cm_event} and {@code
   * rdma_ack_cm_event}.
   *
   * @return the event, or null if none is pending
   * @throws IllegalStateException if the channel is closed
   */
  public @Nullable ConnectionEvent poll() {
    try (var _ = channel.reading().hold()) {
      core.requireOpen();
      ConnectionEvent event;
      do {
        if (!read()) {
          return null;
        }
        event = copyAndAcknowledge(eventPointer.get(ValueLayout.JAVA_LONG, 0));
      } while (event == null);
      if (event.type() == EventType.DEVICE_REMOVAL) {
        boolean _ = ServiceLoop.attempt(() -> Contexts.releaseRemoved(channel.rdmacm()));
      }
      return event;
    }
  }

  private boolean read() {
    try {
      channel.rdmacm().rdma_get_cm_event(segment().address(), eventPointer.address());
      return true;
    } catch (VerbsException e) {
      if (e.errno() == Errno.EAGAIN) {
        return false;
      }
      throw e;
    }
  }

  /** Copies and acknowledges an event; returns null if its identifier is being closed. */
  private @Nullable ConnectionEvent copyAndAcknowledge(long address) {
    MemorySegment event = Memory.at(address, rdma_cm_event.sizeof());
    try {
      ConnectionId id = find(rdma_cm_event.id(event));
      if (EventType.of(rdma_cm_event.event(event)) != EventType.CONNECT_REQUEST) {
        return id == null ? null : id.record(new ConnectionEvent(event, id, null));
      }
      ConnectionId listener = find(rdma_cm_event.listen_id(event));
      if (listener == null) {
        channel.rdmacm().rdma_destroy_id(rdma_cm_event.id(event).address());
        return null;
      }
      ConnectionId request = ConnectionId.requested(this, rdma_cm_event.id(event));
      return new ConnectionEvent(event, request, listener);
    } finally {
      int _ = channel.rdmacm().rdma_ack_cm_event(address);
    }
  }

  /** Returns the identifier of an event, or null if it is closed. */
  private @Nullable ConnectionId find(MemorySegment id) {
    return (ConnectionId) channel.owner(id.address());
  }

  /**
   * Waits for an event until the timeout expires, and returns it: {@code rdma_get_cm_event} and
   * {@code rdma_ack_cm_event}.
   *
   * @param timeout the maximum time to wait
   * @return the event, or null if the timeout expired
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the channel is closed before or during the wait
   */
  public @Nullable ConnectionEvent poll(Duration timeout) throws InterruptedException {
    return awaitAny(this::poll, Deadline.after(timeout));
  }

  /**
   * Waits for an event, and returns it: {@code rdma_get_cm_event} and {@code rdma_ack_cm_event}.
   *
   * @return the event
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the channel is closed before or during the wait
   */
  public ConnectionEvent take() throws InterruptedException {
    return awaitAny(this::poll, Deadline.NEVER);
  }

  /**
   * Calls {@code look} when an event is pending until it returns a result; returns null if the
   * deadline passes before.
   */
  <T> @Nullable T awaitAny(Supplier<@Nullable T> look, Deadline deadline)
      throws InterruptedException {
    T found = look.get();
    if (found != null) {
      return found;
    }
    Object begun = FlightEvents.beginWait();
    try {
      while (found == null && !deadline.isOver()) {
        readiness().await(deadline.remainingNanos());
        found = look.get();
      }
      return found;
    } finally {
      FlightEvents.endWait(begun, this, found != null);
    }
  }

  /**
   * {@return the file descriptor of the channel, for an event loop: readable when an event is
   * pending, and non-blocking; only the channel may close it}
   *
   * @throws UnsupportedOperationException for a software device, if this is not Linux
   */
  public int descriptor() {
    return Readiness.requireSystem(descriptor(Inside.LIBRARY));
  }

  /**
   * Returns the descriptor, or the number that stands for it in this library.
   *
   * @hidden
   */
  @SuppressWarnings({"exports", "InvalidBlockTag", "doclint:missing"}) // Not for programs.
  public int descriptor(Inside caller) {
    core.requireOpen();
    return descriptor;
  }

  /** Returns whether endpoints share the channel. */
  boolean isOfEndpoints() {
    return ofEndpoints;
  }

  /** Returns the C object with its identifiers. */
  NativeChannel channel() {
    return channel;
  }

  private Readiness readiness() {
    try (var _ = channel.reading().hold()) {
      core.requireOpen();
      if (readiness == null) {
        readiness = Readiness.of(descriptor, toString());
      }
      return readiness;
    }
  }

  private void endWaits() {
    try (var _ = channel.reading().hold()) {
      if (readiness != null) {
        readiness.close();
        readiness = null; // Created again if closing fails.
      }
    }
  }

  @Override
  public String toString() {
    return ObjectText.of(core, "RDMA CM event channel " + descriptor);
  }
}
