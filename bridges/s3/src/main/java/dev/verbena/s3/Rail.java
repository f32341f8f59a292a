package dev.verbena.s3;

import dev.verbena.address.Gid;
import dev.verbena.address.GidType;
import dev.verbena.attributes.PortState;
import dev.verbena.mlx5.Mlx5Device;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.AsyncEventType;
import dev.verbena.verbs.AsyncEvent;
import dev.verbena.verbs.AsyncEvents;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairSetup;
import dev.verbena.verbs.SharedReceiveQueue;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * An RDMA device by which the server of an endpoint reaches memory of this process: a protection
 * domain of its own with a DC target and buffers, so that no server reaches the memory for another
 * one. It is closed when the device is lost and the last of its buffers is given back.
 */
final class Rail {
  private static final int HOP_LIMIT = 64;

  private final Context context;
  private final int port;
  private final Counters counters;
  private final Buffers buffers;
  private final Duration timeout;
  private final Supplier<Access> accesses;
  private volatile boolean lost;
  private volatile boolean down;

  private Rail(Context context, Place place, Remote remote, Settings settings, Counters counters) {
    this.context = context;
    this.port = place.port;
    this.timeout = settings.timeout();
    this.counters = counters;
    ProtectionDomain domain = context.allocateProtectionDomain();
    this.buffers = new Buffers(domain, settings.poolBytes(), counters, this::close);
    Consumer<QueuePairSetup> setting = setup -> place.apply(setup, remote, settings);
    this.accesses =
        settings.connected()
            ? new Connections(domain, remote.uri(), timeout, setting)
            : target(domain, settings.dcKey(), setting);
    synchronized (this) { // Events change what was read.
      AsyncEvents.of(context).listen(this::onEvent); // Until the context is closed.
      down = context.port(port).attributes().state() != PortState.ACTIVE;
    }
  }

  /** Where on a device; a negative index if the GID is to be chosen. */
  private record Place(int port, int gidIndex) {
    void apply(QueuePairSetup setup, Remote remote, Settings settings) {
      setup.port(port);
      if (gidIndex < 0) {
        setup.toward(remote.address());
      } else {
        setup.gid(gidIndex);
      }
      setup
          .trafficClass(settings.trafficClass())
          .hopLimit(HOP_LIMIT)
          .access(AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE);
    }

    /** Returns the place for a name of the settings, if it is on a device. */
    static Optional<Place> of(String name, Context context, Remote remote) {
      if (name.isEmpty()) {
        Gid local = Gid.of(remote.local());
        return context.gidTable().stream()
            .filter(e -> e.gid().equals(local) && e.type() != GidType.ROCE_V1)
            .findFirst()
            .map(entry -> new Place(entry.port(), entry.index()));
      }
      String[] parts = name.split(":");
      return context.device().name().equals(parts[0])
          ? Optional.of(new Place(1, parts.length == 1 ? -1 : Integer.parseInt(parts[1])))
          : Optional.empty();
    }
  }

  /**
   * Opens a device.
   *
   * @param name its name, and the index of a GID of port 1 after a colon if it is not to be chosen;
   *     empty for the device that has the local address of the route
   * @throws RuntimeException if it cannot be used
   */
  static Rail open(String name, Remote remote, Settings settings, Counters counters) {
    RuntimeException cause = null;
    for (Device device : Devices.list()) {
      Context context = null;
      Rail rail = null;
      try {
        context = device.open();
        Place place = Place.of(name, context, remote).orElse(null);
        rail = place == null ? null : new Rail(context, place, remote, settings, counters);
      } catch (RuntimeException e) { // Another one may do.
        cause = e;
      } finally {
        if (context != null && rail == null) {
          context.close();
        }
      }
      if (rail != null) {
        return rail;
      }
    }
    throw new IllegalStateException(
        "no RDMA device that can be used "
            + (name.isEmpty() ? "has an address of the route to " + remote.uri() : "is " + name)
            + (cause == null ? "" : ": " + cause.getMessage()),
        cause);
  }

  private static Supplier<Access> target(
      ProtectionDomain domain, long key, Consumer<QueuePairSetup> setting) {
    Context context = domain.context();
    CompletionQueue completions = context.createCompletionQueue(1);
    QueuePair target =
        Mlx5Device.of(context)
            .dcTarget(domain, key)
            .receiveCompletions(completions)
            .sharedReceiveQueue(SharedReceiveQueue.create(domain, 1)) // Nothing is received.
            .create();
    setting.accept(target.setup());
    target.activate();
    Access access = (address, size, rkey) -> Token.of(target.localAddress(), address, size, rkey);
    return () -> access;
  }

  private synchronized void onEvent(AsyncEvent event) {
    switch (event.type()) {
      case PORT_ERR, PORT_ACTIVE -> {
        if (event instanceof AsyncEvent.OfPort changed && changed.port() == port) {
          down = event.type() == AsyncEventType.PORT_ERR;
        }
      }
      case DEVICE_FATAL, QP_FATAL, SRQ_ERR, CQ_ERR, GID_CHANGE, LID_CHANGE -> leave();
      default -> Log.LOGGER.log(Level.DEBUG, "{0}: {1}", this, event);
    }
  }

  /** No transfer begins from now on. */
  void leave() {
    lost = true;
    buffers.end();
  }

  /** {@return whether transfers can begin} */
  boolean isUsable() {
    return !lost && !down;
  }

  boolean isLost() {
    return lost;
  }

  Buffers buffers() {
    return buffers;
  }

  /**
   * Takes a buffer for an attempt; null if others have the memory or the device was lost.
   *
   * @param place of the attempt
   * @throws RuntimeException if there is no connection, or memory cannot be registered
   */
  Lease take(Buffers.Direction direction, long length, Window.Place place) {
    MemoryRegion region = buffers.take(direction, length);
    if (region == null) {
      return null;
    }
    try {
      return lend(region, length, place, isFree -> buffers.giveBack(region, isFree));
    } catch (Throwable t) {
      buffers.giveBack(region, true);
      throw t;
    }
  }

  /**
   * Begins the use of a buffer by an attempt.
   *
   * @param end told whether no peer accesses it any more
   * @throws RuntimeException if there is no connection
   */
  Lease lend(MemoryRegion region, long length, Window.Place place, Lease.End end) {
    MemorySegment data = region.memory().asSlice(0, length);
    Access access = accesses.get();
    return new Lease(
        data,
        access.token(region.start(), length, region.rkey()),
        timeout,
        place,
        isFree -> {
          access.release();
          if (!isFree) {
            counters.count(S3Counter.DISCARDED);
          }
          end.run(isFree);
        });
  }

  private void close() {
    try {
      context.close();
    } catch (RuntimeException e) { // The call that gave its memory back has succeeded.
      Log.LOGGER.log(Level.WARNING, this + " stays open", e);
    }
  }

  @Override
  public String toString() {
    return context.device().name();
  }
}
