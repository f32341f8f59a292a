package dev.verbena.simulated;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.cm.ConnectionEvent;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.EventType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The history of an identifier of RDMA CM, checked as it is made: each request ends in one event,
 * the events of a connection have an order, and a closed identifier has none.
 */
final class TrackedId {
  /** What was asked for, and not yet answered. */
  enum Request {
    ADDRESS,
    ROUTE,
    CONNECTION,
    END
  }

  /** How far the connection is. */
  private enum Phase {
    NONE,
    REQUESTED,
    ESTABLISHED,
    DISCONNECTED,
    /** The queue pair has left TIMEWAIT. */
    LEFT,
    FAILED
  }

  final ConnectionId id;

  /** The client of a request, or null. */
  final TrackedId client;

  private final List<EventType> events = new ArrayList<>();
  private Phase phase = Phase.NONE;
  private Request pending;
  private boolean isClosing;
  private boolean isClosed;
  private boolean isRemoved;
  private boolean wasEstablished;

  /** The server has rejected it, or accepted it as that of a datagram service. */
  private boolean isAnswered;

  /** What a client has sent with its request. */
  byte[] question = new byte[0];

  /** What the server has sent when it accepted or rejected the request of a client. */
  private final List<byte[]> acceptances = new ArrayList<>();

  private final List<byte[]> rejections = new ArrayList<>();

  /** The last request of a client that has arrived, or null. */
  private TrackedId arrived;

  /** User events that were written, and that were read. */
  private long written;

  private long read;

  TrackedId(ConnectionId id, TrackedId client) {
    this.id = id;
    this.client = client;
  }

  /**
   * A request arrives at the server. It may be sent again if an answer was lost, and to a device
   * that takes the place of one that was removed.
   */
  void arrived(boolean isOnFirstDevice) {
    TrackedId before = client.arrived;
    assertTrue(
        before == null || before.isOver() || !isOnFirstDevice,
        () -> "a request arrives again: " + client);
    client.arrived = this;
  }

  void begin(Request request) {
    assertNull(pending);
    pending = request;
    if (request == Request.CONNECTION) {
      phase = Phase.REQUESTED;
    }
  }

  /** The call failed: no event answers it. Returns false. */
  boolean refused(Request request) {
    if (pending == request) {
      pending = null;
    }
    return false;
  }

  /** The server answers a request of a client. */
  void answer(byte[] data, boolean isAccepted) {
    (isAccepted ? client.acceptances : client.rejections).add(data);
    isAnswered = true;
  }

  private boolean isOver() {
    return !isUsable() || phase == Phase.FAILED || (isAnswered && phase == Phase.NONE);
  }

  void writeEvent() {
    id.writeEvent((int) written, written++);
  }

  /** Returns false if it is closed already. */
  boolean beginClosing() {
    boolean isFirst = !isClosing;
    isClosing = true;
    return isFirst;
  }

  void closed() {
    isClosed = true;
  }

  boolean isPending(Request request) {
    return pending == request && !isClosing && !isRemoved;
  }

  boolean isUsable() {
    return !isClosing && !isRemoved;
  }

  boolean isEstablished() {
    return isUsable() && phase == Phase.ESTABLISHED;
  }

  boolean isDisconnected() {
    return phase == Phase.DISCONNECTED;
  }

  boolean isClosed() {
    return isClosed;
  }

  /** Whether the server has answered, or has closed the request. */
  boolean isEnded() {
    return wasEstablished || has(EventType.REJECTED) || has(EventType.UNREACHABLE);
  }

  boolean lacksUserEvents() {
    return isUsable() && read < written;
  }

  boolean has(EventType type) {
    return events.contains(type);
  }

  // Events

  void received(ConnectionEvent event) {
    EventType type = event.type();
    assertFalse(isClosed, () -> "an event of a closed identifier: " + type + " after " + this);
    assertFalse(isRemoved && type != EventType.USER, () -> type + " after " + this);
    switch (type) {
      case ADDR_RESOLVED, ADDR_ERROR -> end(Request.ADDRESS, type);
      case ROUTE_RESOLVED, ROUTE_ERROR -> end(Request.ROUTE, type);
      case ESTABLISHED -> {
        end(Request.CONNECTION, type);
        phase = Phase.ESTABLISHED;
        wasEstablished = true;
        established(event);
      }
      case REJECTED -> {
        boolean wasAnswered = pending == Request.CONNECTION || pending == Request.END;
        assertTrue(wasAnswered || phase == Phase.ESTABLISHED, () -> type + " after " + this);
        pending = null;
        rejected(event);
        phase = Phase.FAILED;
      }
      case UNREACHABLE, CONNECT_ERROR -> {
        end(Request.CONNECTION, type);
        phase = Phase.FAILED;
      }
      case DISCONNECTED -> {
        boolean isEarly = client != null && phase == Phase.REQUESTED; // The RTU was lost.
        assertTrue(isEarly || phase == Phase.ESTABLISHED, () -> type + " after " + this);
        pending = null;
        phase = Phase.DISCONNECTED;
      }
      case TIMEWAIT_EXIT -> {
        assertEquals(Phase.DISCONNECTED, phase, this::toString);
        phase = Phase.LEFT;
      }
      case DEVICE_REMOVAL -> isRemoved = true;
      case USER -> {
        assertEquals(read, event.argument(), this::toString);
        assertEquals(read, event.status(), this::toString);
        read++;
        assertTrue(read <= written, this::toString);
      }
      default -> throw new AssertionError(type + " after " + this);
    }
    events.add(type);
  }

  private void end(Request request, EventType type) {
    assertEquals(request, pending, () -> type + " after " + this);
    pending = null;
  }

  private void established(ConnectionEvent event) {
    if (client == null) {
      assertTrue(has(acceptances, event), () -> "established, but not accepted: " + this);
    } else {
      assertTrue(client.wasEstablished, () -> "established here, but not there: " + client);
    }
  }

  private void rejected(ConnectionEvent event) {
    if (client == null && Arrays.stream(toInts(event.privateData())).anyMatch(b -> b != 0)) {
      assertTrue(has(rejections, event), () -> "rejected, but not by the server: " + this);
    }
  }

  private static int[] toInts(byte[] bytes) {
    int[] ints = new int[bytes.length];
    Arrays.setAll(ints, i -> bytes[i]);
    return ints;
  }

  /** Whether an event has private data that a peer has sent, padded with zeros. */
  static boolean has(List<byte[]> sent, ConnectionEvent event) {
    byte[] data = event.privateData();
    return sent.stream()
        .anyMatch(
            s -> s.length <= data.length && Arrays.equals(Arrays.copyOf(s, data.length), data));
  }

  @Override
  public String toString() {
    return events + ", " + phase + ", waits for " + pending + ", client " + (client == null);
  }
}
