package dev.verbena.s3;

import dev.verbena.address.Gid;
import dev.verbena.address.GidType;
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
import java.net.InetAddress;
import java.time.Duration;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * An RDMA device by which the server of an endpoint reaches memory of this process: a protection
 * domain of its own with a DC target and buffers, so that no server reaches the memory for another
 * one. It is closed when the device is lost and the last buffer is given back.
 */
final class Rail {
  private static final int HOP_LIMIT = 64;

  private final Context context;
  private final int port;
  private final Buffers buffers;
  private final Duration timeout;
  private final Supplier<Access> accesses;
  private int used;
  private boolean lost;
  private boolean isClosed;
  private volatile boolean down;

  private Rail(Context context, Settings settings, Place place, Remote remote, Counters counters) {
    this.context = context;
    this.port = place.port;
    this.timeout = settings.timeout();
    ProtectionDomain domain = context.allocateProtectionDomain();
    this.buffers = new Buffers(domain, settings.poolBytes(), counters);
    this.accesses =
        settings.connected()
            ? new Connections(
                domain, remote.uri(), timeout, setup -> place.apply(setup, remote, settings))
            : target(domain, settings, setup -> place.apply(setup, remote, settings));
    AsyncEvents.of(context).listen(this::onEvent); // Until the context is closed.
  }

  /** The device of a rail, and where on it; a negative index if the GID is to be chosen. */
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
  }

  /**
   * Opens the device that has a local address.
   *
   * @throws RuntimeException if it cannot be used
   */
  static Rail at(InetAddress local, Remote remote, Settings settings, Counters counters) {
    return open(
        "no RDMA device that can be used has the address " + local.getHostAddress(),
        context ->
            context.gidTable().stream()
                .filter(e -> e.gid().equals(Gid.of(local)) && e.type() != GidType.ROCE_V1)
                .findFirst()
                .map(entry -> new Place(entry.port(), entry.index())),
        (context, place) -> new Rail(context, settings, place, remote, counters));
  }

  /**
   * Opens a device.
   *
   * @param name its name, and the index of a GID of port 1 after a colon if it is not to be chosen
   * @throws RuntimeException if it cannot be used
   */
  static Rail named(String name, Remote remote, Settings settings, Counters counters) {
    int colon = name.indexOf(':');
    String device = colon < 0 ? name : name.substring(0, colon);
    Place place = new Place(1, colon < 0 ? -1 : Integer.parseInt(name.substring(colon + 1)));
    return open(
        "no RDMA device that can be used is named " + device,
        context -> context.device().name().equals(device) ? Optional.of(place) : Optional.empty(),
        (context, _) -> new Rail(context, settings, place, remote, counters));
  }

  private static Rail open(
      String obstacle,
      Function<Context, Optional<Place>> choice,
      BiFunction<Context, Place, Rail> maker) {
    RuntimeException cause = null;
    for (Device device : Devices.list()) {
      Context context = null;
      Rail rail = null;
      try {
        context = device.open();
        Context opened = context;
        rail = choice.apply(context).map(place -> maker.apply(opened, place)).orElse(null);
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
        cause == null ? obstacle : obstacle + ": " + cause.getMessage(), cause);
  }

  private static Supplier<Access> target(
      ProtectionDomain domain, Settings settings, Consumer<QueuePairSetup> setting) {
    Context context = domain.context();
    CompletionQueue completions = context.createCompletionQueue(1);
    QueuePair target =
        Mlx5Device.of(context)
            .dcTarget(domain, settings.dcKey())
            .receiveCompletions(completions)
            .sharedReceiveQueue(SharedReceiveQueue.create(domain, 1)) // Nothing is received.
            .create();
    setting.accept(target.setup());
    target.activate();
    Access access = (address, size, rkey) -> Token.of(target.localAddress(), address, size, rkey);
    return () -> access;
  }

  private void onEvent(AsyncEvent event) {
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
    synchronized (this) {
      lost = true;
    }
    closeIfUnused();
  }

  /** {@return whether transfers can begin} */
  synchronized boolean isUsable() {
    return !lost && !down;
  }

  synchronized boolean isLost() {
    return lost;
  }

  long bytes() {
    return buffers.bytes();
  }

  long freeBytes() {
    return buffers.freeBytes();
  }

  /**
   * Takes a buffer; null if others have the memory or the device was lost.
   *
   * @throws RuntimeException if memory cannot be registered
   */
  MemoryRegion takeRegion(Buffers.Direction direction, long length) {
    synchronized (this) {
      if (lost) {
        return null;
      }
      used++;
    }
    MemoryRegion region = null;
    try {
      region = buffers.take(direction, length);
      return region;
    } finally {
      if (region == null) {
        release();
      }
    }
  }

  /**
   * Takes back a buffer.
   *
   * @param isFree whether no peer accesses it any more; otherwise it is deregistered
   */
  void giveBack(MemoryRegion region, boolean isFree) {
    if (isFree) {
      buffers.giveBack(region);
    } else {
      buffers.discard(region);
    }
    release();
  }

  /**
   * Takes a buffer for an attempt; null if others have the memory or the device was lost.
   *
   * @param place of the attempt
   * @throws RuntimeException if there is no connection, or memory cannot be registered
   */
  Lease take(Buffers.Direction direction, long length, Window.Place place) {
    MemoryRegion region = takeRegion(direction, length);
    if (region == null) {
      return null;
    }
    try {
      return lend(region, length, place, isFree -> giveBack(region, isFree));
    } catch (Throwable t) {
      giveBack(region, true);
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
          access.release(isFree);
          end.run(isFree);
        });
  }

  private void release() {
    synchronized (this) {
      used--;
    }
    closeIfUnused();
  }

  private void closeIfUnused() {
    synchronized (this) {
      if (!lost || used > 0 || isClosed) {
        return;
      }
      isClosed = true;
    }
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
