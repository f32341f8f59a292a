package dev.verbena.cm;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Librdmacm;
import dev.verbena.internal.Memory;
import dev.verbena.internal.Provider;
import dev.verbena.internal.Readiness;
import dev.verbena.raw.rdma_cm_event;
import dev.verbena.raw.rdma_event_channel;
import dev.verbena.verbs.Resource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Where identifiers report what happens to them: {@code struct rdma_event_channel}.
 *
 * <p>Events come in order, each to one of the threads that take them, copied and acknowledged: so
 * closing an identifier never waits for anybody. Waiting ends with an event, with the end of the
 * time, with an interrupt ({@link InterruptedException}) and with the channel's closing ({@link
 * IllegalStateException}); a virtual thread that waits does not hold its carrier.
 *
 * <p>Closing the channel ({@code rdma_destroy_event_channel}) closes its identifiers.
 */
public final class EventChannel extends Resource {
  private final NativeChannel channel;
  private final int descriptor;
  private final Arena arena = Arena.ofAuto();
  private final MemorySegment eventPointer = arena.allocate(ValueLayout.JAVA_LONG);

  private @Nullable Readiness readiness;

  private EventChannel(NativeChannel channel, int descriptor) {
    super(channel.address(), channel::destroy);
    this.channel = channel;
    this.descriptor = descriptor;
  }

  /**
   * Opens a channel: {@code rdma_create_event_channel}.
   *
   * @return a channel, to be closed
   * @throws VerbsException ENODEV or ENOENT if the kernel has no RDMA connection manager loaded
   */
  public static EventChannel open() {
    return open(Provider.system().rdmacm());
  }

  static EventChannel open(Librdmacm rdmacm) {
    long address;
    try {
      address = rdmacm.rdma_create_event_channel();
    } catch (VerbsException e) {
      throw e.explained("is the kernel module rdma_ucm loaded, and is there an RDMA device?");
    }
    int descriptor = rdma_event_channel.fd(Memory.at(address, rdma_event_channel.sizeof()));
    // A discarded event would otherwise make C wait for the next one.
    Readiness.setNonBlocking(descriptor);
    return new EventChannel(new NativeChannel(rdmacm, address), descriptor);
  }

  /**
   * Makes an identifier that reports here: {@code rdma_create_id}.
   *
   * @param portSpace the kind of service
   * @return an identifier, to be closed
   */
  public ConnectionId createId(PortSpace portSpace) {
    return ConnectionId.create(this, Objects.requireNonNull(portSpace, "portSpace"));
  }

  /**
   * Takes an event that is already there: {@code rdma_get_cm_event} and {@code rdma_ack_cm_event}.
   *
   * @return the event, or null if there is none
   * @throws IllegalStateException if the channel is closed
   */
  public @Nullable ConnectionEvent poll() {
    channel.reading().lock();
    try {
      requireOpen();
      ConnectionEvent event;
      do {
        if (!read()) {
          return null;
        }
        event = copyAndAcknowledge(eventPointer.get(ValueLayout.JAVA_LONG, 0));
      } while (event == null);
      return event;
    } finally {
      channel.reading().unlock();
    }
  }

  private boolean read() {
    try {
      channel.rdmacm().rdma_get_cm_event(address(), eventPointer.address());
      return true;
    } catch (VerbsException e) {
      if (e.errno() == Errno.EAGAIN) {
        return false;
      }
      throw e;
    }
  }

  /** The event, or null if it is of an identifier that is being closed. */
  private @Nullable ConnectionEvent copyAndAcknowledge(long address) {
    MemorySegment event = Memory.at(address, rdma_cm_event.sizeof());
    try {
      ConnectionId id = find(rdma_cm_event.id(event));
      if (EventType.of(rdma_cm_event.event(event)) != EventType.CONNECT_REQUEST) {
        return id == null ? null : ConnectionEvent.copy(event, id, null);
      }
      ConnectionId listener = find(rdma_cm_event.listen_id(event));
      if (listener == null) {
        channel.rdmacm().rdma_destroy_id(rdma_cm_event.id(event).address());
        return null;
      }
      ConnectionId request = ConnectionId.requested(this, rdma_cm_event.id(event));
      return ConnectionEvent.copy(event, request, listener);
    } finally {
      channel.rdmacm().rdma_ack_cm_event(address);
    }
  }

  /** The identifier that reports here, or null if it is closed. */
  private @Nullable ConnectionId find(MemorySegment id) {
    return (ConnectionId) channel.owner(id.address());
  }

  /**
   * Waits a while for an event: {@code rdma_get_cm_event} and {@code rdma_ack_cm_event}.
   *
   * @param timeout how long to wait at most
   * @return the event, or null if there was none in time
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the channel is closed, be it during the wait
   */
  public @Nullable ConnectionEvent poll(Duration timeout) throws InterruptedException {
    return awaitAny(this::poll, Deadline.after(timeout));
  }

  /**
   * Waits for an event: {@code rdma_get_cm_event} and {@code rdma_ack_cm_event}.
   *
   * @return the event
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the channel is closed, be it during the wait
   */
  public ConnectionEvent take() throws InterruptedException {
    return awaitAny(this::poll, Deadline.NEVER);
  }

  /** What a look at the channel finds, as soon as it finds something; null if not in time. */
  <T> @Nullable T awaitAny(Supplier<@Nullable T> look, Deadline deadline)
      throws InterruptedException {
    T found = look.get();
    while (found == null && !deadline.isOver()) {
      readiness().await(deadline.remainingNanos());
      found = look.get();
    }
    return found;
  }

  /**
   * The channel's file descriptor, for event loops of others: it is readable when there is an
   * event, and non-blocking.
   *
   * @return the descriptor, which stays the channel's
   */
  public int descriptor() {
    requireOpen();
    return descriptor;
  }

  /** The C object, and what reports on it. */
  NativeChannel channel() {
    return channel;
  }

  private Readiness readiness() {
    channel.reading().lock();
    try {
      requireOpen();
      if (readiness == null) {
        readiness = Readiness.of(descriptor);
      }
      return readiness;
    } finally {
      channel.reading().unlock();
    }
  }

  @Override
  protected void beforeClose() {
    channel.reading().lock();
    try {
      if (readiness != null) {
        readiness.close();
        readiness = null; // Made anew if closing fails.
      }
    } finally {
      channel.reading().unlock();
    }
  }

  @Override
  public String toString() {
    return "RDMA CM event channel " + descriptor;
  }
}
