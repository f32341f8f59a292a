package dev.verbena.cm;

import dev.verbena.internal.Deadline;
import dev.verbena.internal.Inside;
import dev.verbena.internal.time.Time;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The events of an endpoint, as its channel delivers them. The channel refers to it and not to the
 * endpoint, which is then unreachable when the program has dropped it without closing it.
 */
final class EndpointEvents implements Consumer<Optional<ConnectionEvent>> {
  private static final System.Logger LOG = System.getLogger("dev.verbena");

  private static final Set<EventType> ENDS =
      EnumSet.of(EventType.DISCONNECTED, EventType.DEVICE_REMOVAL);
  private static final Set<EventType> ACCEPTED =
      EnumSet.of(EventType.CONNECT_RESPONSE, EventType.ESTABLISHED);
  private static final Set<EventType> OF_GROUPS =
      EnumSet.of(EventType.MULTICAST_JOIN, EventType.MULTICAST_ERROR);

  private final ConnectionId id;

  /** The events that are not of multicast groups; empty at the end. */
  final BlockingQueue<Optional<ConnectionEvent>> received = new LinkedBlockingQueue<>();

  /** The events of the multicast joins in progress, by context number; empty at the end. */
  private final Map<Long, BlockingQueue<Optional<ConnectionEvent>>> joining =
      new ConcurrentHashMap<>();

  /** Whether requests are outstanding that may still complete when the peer has disconnected. */
  volatile BooleanSupplier outstanding = () -> false;

  /** Accessed by the thread that reads the channel. */
  private boolean isAccepted;

  volatile AddressChange addressChange = AddressChange.IGNORE;
  volatile Duration completionTime = Duration.ZERO;
  volatile @Nullable ConnectionEvent end;
  final CountDownLatch over = new CountDownLatch(1);

  /** What runs when no connection is to be expected any more; null once it has run. */
  private final AtomicReference<@Nullable Runnable> action = new AtomicReference<>();

  EndpointEvents(ConnectionId id) {
    this.id = id;
  }

  /** Runs an action at the end. */
  void whenOver(Runnable one) {
    action.set(one);
    runIfOver();
  }

  private void runIfOver() {
    Runnable one = over.getCount() == 0 ? action.getAndSet(null) : null;
    if (one != null) {
      one.run();
    }
  }

  /** Returns the events of a multicast join from now on. */
  BlockingQueue<Optional<ConnectionEvent>> ofJoin(long context) {
    BlockingQueue<Optional<ConnectionEvent>> result = new LinkedBlockingQueue<>();
    joining.put(context, result);
    return result;
  }

  void endJoin(long context) {
    joining.remove(context);
  }

  /** Receives an event from the thread that reads the channel; empty if no event follows. */
  @Override
  public void accept(Optional<ConnectionEvent> event) {
    event.filter(e -> e.type() == EventType.ADDR_CHANGE).ifPresent(this::logAddressChange);
    isAccepted |= event.filter(e -> ACCEPTED.contains(e.type())).isPresent();
    event
        .filter(this::ends)
        .ifPresent(
            e -> {
              end = e;
              over.countDown();
              end(e.type());
              runIfOver();
            });
    if (event.isEmpty()) {
      over.countDown();
      runIfOver();
      joining.values().forEach(join -> join.add(event));
      received.add(event);
    } else if (OF_GROUPS.contains(event.get().type())) {
      BlockingQueue<Optional<ConnectionEvent>> join = joining.get(event.get().argument());
      if (join != null) { // The join was not abandoned.
        join.add(event);
      }
    } else {
      received.add(event);
    }
  }

  /** A peer that ends before it receives the RTU rejects what is established at this end. */
  private boolean ends(ConnectionEvent event) {
    return ENDS.contains(event.type())
        || (event.type() == EventType.REJECTED && isAccepted)
        || (event.type() == EventType.ADDR_CHANGE && addressChange == AddressChange.END);
  }

  private void logAddressChange(ConnectionEvent event) {
    LOG.log(
        System.Logger.Level.WARNING,
        addressChange == AddressChange.END
            ? event + "; the connection ends"
            : event + "; the connection continues");
  }

  /**
   * Disconnects, which flushes outstanding requests. If the peer has disconnected, what it received
   * before counts as completed: the device may process the acknowledgement after the event.
   */
  private void end(EventType type) {
    if (type == EventType.DISCONNECTED && outstanding.getAsBoolean()) {
      Thread.ofVirtual().name("end of " + id).start(this::endWhenCompleted);
    } else {
      id.endQuietly(Inside.LIBRARY);
    }
  }

  private void endWhenCompleted() {
    Deadline deadline = Deadline.after(completionTime);
    try {
      while (outstanding.getAsBoolean() && !deadline.isOver() && id.isOpen()) {
        Time.sleep(1_000_000);
      }
    } catch (InterruptedException e) {
      throw new AssertionError("the thread is not accessible to callers", e);
    } finally {
      id.endQuietly(Inside.LIBRARY);
    }
  }
}
