package dev.verbena.cm;

import dev.verbena.internal.Librdmacm;
import dev.verbena.internal.io.ServiceLoop;
import dev.verbena.internal.time.ScopedLock;
import dev.verbena.internal.time.Time;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * An event channel that up to {@value #ENDPOINTS} endpoints share, and the platform thread that
 * reads its events. The first endpoint opens it, the last one closes it.
 *
 * <p>Each channel is a file descriptor. Calls on the identifiers of a channel are serialized: with
 * one channel for all endpoints, a thousand handshakes would wait for each other.
 */
final class EndpointChannel {
  /** The maximum number of endpoints of a channel. */
  static final int ENDPOINTS = 32;

  /** After so many failures, one after the other, no event can be read from the channel. */
  private static final int MOST_FAILURES = 3;

  private static final ScopedLock LOCK = new ScopedLock();

  /** The channels with at least one endpoint; guarded by the lock. */
  private static final List<EndpointChannel> ALL = new ArrayList<>();

  private final Librdmacm rdmacm;
  private final EventChannel events;
  private final Map<ConnectionId, Consumer<Optional<ConnectionEvent>>> receivers =
      Collections.synchronizedMap(new LinkedHashMap<>());

  /** The number of endpoints, with those that are being created; guarded by the lock. */
  private int count;

  private EndpointChannel(Librdmacm rdmacm) {
    this.rdmacm = rdmacm;
    this.events = EventChannel.ofEndpoints(rdmacm);
  }

  /**
   * Creates an endpoint on a channel with room for it.
   *
   * @param maker creates the endpoint, which is {@linkplain #add added}
   */
  static <E> E enter(Librdmacm rdmacm, Function<EndpointChannel, E> maker) {
    EndpointChannel channel = withRoom(rdmacm);
    try {
      return maker.apply(channel);
    } catch (Throwable t) {
      channel.release();
      throw t;
    }
  }

  @SuppressWarnings("ReferenceEquality") // Two implementations are never the same.
  private static EndpointChannel withRoom(Librdmacm rdmacm) {
    try (var _ = LOCK.hold()) {
      EndpointChannel channel =
          ALL.stream()
              .filter(c -> c.rdmacm == rdmacm && c.count < ENDPOINTS)
              .findFirst()
              .orElseGet(() -> open(rdmacm));
      channel.count++;
      return channel;
    }
  }

  private static EndpointChannel open(Librdmacm rdmacm) {
    EndpointChannel opened = new EndpointChannel(rdmacm);
    // Virtual threads of the program that spin can occupy all carriers.
    Time.daemon().name("endpoints of " + opened.events).start(opened::deliverAll);
    ALL.add(opened);
    return opened;
  }

  /** Returns the channel, for the identifiers of its endpoints. */
  EventChannel events() {
    return events;
  }

  /**
   * Adds an endpoint, before its identifier has events on this channel.
   *
   * @param receiver receives each event; empty when no event follows
   */
  void add(ConnectionId id, Consumer<Optional<ConnectionEvent>> receiver) {
    receivers.put(id, receiver);
  }

  private void deliverAll() {
    try {
      int failures = 0;
      while (events.isOpen() && failures < MOST_FAILURES) {
        failures = ServiceLoop.attempt(this::deliver) ? 0 : failures + 1;
      }
    } finally {
      retire();
      for (Consumer<Optional<ConnectionEvent>> receiver : List.copyOf(receivers.values())) {
        boolean _ = ServiceLoop.attempt(() -> receiver.accept(Optional.empty()));
      }
    }
  }

  /** Delivers the next event; nothing if the channel is closed meanwhile. */
  private void deliver() {
    try {
      ConnectionEvent event = events.take();
      Consumer<Optional<ConnectionEvent>> receiver = receivers.get(event.id());
      if (receiver != null) {
        boolean _ = ServiceLoop.attempt(() -> receiver.accept(Optional.of(event)));
      }
    } catch (InterruptedException e) {
      throw new AssertionError("the thread is not accessible to callers", e);
    } catch (IllegalStateException e) {
      if (events.isOpen()) {
        throw e;
      }
    }
  }

  private void retire() {
    try (var _ = LOCK.hold()) {
      ALL.remove(this);
    }
  }

  /** Removes the endpoint of an identifier that is closed. May be repeated. */
  void leave(ConnectionId id) {
    Consumer<Optional<ConnectionEvent>> receiver = receivers.remove(id);
    if (receiver != null) {
      receiver.accept(Optional.empty());
      release();
    }
  }

  private void release() {
    boolean last;
    try (var _ = LOCK.hold()) {
      count--;
      last = count == 0;
      if (last) {
        ALL.remove(this);
      }
    }
    if (last) {
      events.close();
    }
  }
}
