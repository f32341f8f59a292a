package dev.verbena.s3;

import java.lang.System.Logger.Level;
import java.net.URI;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;

/** An S3 endpoint with the rails by which it reaches this process, and what it has declined. */
final class Endpoint {
  final Counters counters = new Counters();

  private final String name;
  private final String host;
  private final int port;
  private final Settings settings;
  private final Map<Operation, Pause> declined = new EnumMap<>(Operation.class);
  private final Pause unreachable = new Pause();
  private final Window window = new Window();
  private final AtomicInteger next = new AtomicInteger();
  private final Map<String, Pause> absent = new HashMap<>(); // By the names of devices.
  private final ReentrantLock opening = new ReentrantLock();
  private volatile Map<String, Rail> rails = Map.of();
  private volatile boolean hasRead;

  Endpoint(String name, Settings settings) {
    URI uri = URI.create("s3://" + name);
    if (uri.getHost() == null
        || uri.getPort() == 0
        || uri.getPort() > 65_535
        || !uri.getSchemeSpecificPart()
            .equals("//" + uri.getHost() + (uri.getPort() < 0 ? "" : ":" + uri.getPort()))) {
      throw new IllegalArgumentException(
          Settings.PREFIX + "endpoints: not a host, or host:port: " + name);
    }
    this.name = name;
    this.host = bare(uri.getHost()).toLowerCase(Locale.ROOT);
    this.port = uri.getPort();
    this.settings = settings;
    for (Operation operation : Operation.values()) {
      declined.put(operation, new Pause());
    }
    settings.devices().forEach(device -> absent.put(device, new Pause()));
  }

  static String bare(String host) {
    return host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
  }

  /** Returns whether requests to a host go to the endpoint, or to a bucket of it. */
  boolean isAt(String requestHost, int requestPort, String protocol) {
    String lower = requestHost.toLowerCase(Locale.ROOT);
    int expected = port < 0 ? protocol.equals("https") ? 443 : 80 : port;
    return requestPort == expected && (lower.equals(host) || lower.endsWith("." + host));
  }

  /** {@return whether the server has read an object by RDMA, so that it knows tokens} */
  boolean hasRead() {
    return hasRead;
  }

  /**
   * Takes memory for an attempt; null, which is counted, if the call goes by HTTP.
   *
   * @param protocol that of the request
   * @param buffer memory of the program that has the data; null if it has none
   */
  Lease take(Operation operation, long length, String protocol, S3Buffer buffer) {
    if (declined.get(operation).isActive() || unreachable.isActive()) {
      counters.count(S3Counter.PAUSED);
      return null;
    }
    Lease lease = null;
    Window.Place place = window.enter();
    if (place != null) {
      try {
        lease = takeOf(usable(protocol), operation, length, buffer, place);
      } catch (RuntimeException | LinkageError | OutOfMemoryError e) {
        unreachable.begin();
        counters.count(S3Counter.DECLINED_BY_DEVICE);
        Log.LOGGER.log(Level.DEBUG, "no buffer for " + this, e);
        Log.once(
            Level.INFO, "device " + name, "objects of " + name + " go by HTTP: " + e.getMessage());
        return null;
      } finally {
        if (lease == null) {
          place.leave();
        }
      }
    }
    if (lease == null) {
      counters.count(S3Counter.NO_BUFFER);
    }
    return lease;
  }

  /** A device that fails does not keep the others from being used. */
  private Lease takeOf(
      List<Rail> usable, Operation operation, long length, S3Buffer buffer, Window.Place place) {
    int own = buffer == null ? -1 : usable.indexOf(buffer.rail());
    int first = own < 0 ? next.getAndIncrement() : own;
    RuntimeException failure = null;
    for (int i = 0; i < usable.size(); i++) {
      Rail rail = usable.get(Math.floorMod(first + i, usable.size()));
      try {
        Lease lease = buffer == null ? null : buffer.lend(rail, length, place);
        lease = lease == null ? rail.take(operation.direction, length, place) : lease;
        if (lease != null) {
          return lease;
        }
      } catch (RuntimeException e) {
        failure = e;
      }
    }
    if (failure != null) {
      throw failure;
    }
    return null;
  }

  private List<Rail> usable(String protocol) {
    if (settings.devices().stream().anyMatch(this::isToBeOpened)) {
      open(protocol);
    }
    List<Rail> usable = rails.values().stream().filter(Rail::isUsable).toList();
    if (usable.isEmpty()) {
      throw new IllegalStateException("no port of " + rails.values() + " is active");
    }
    return usable;
  }

  private boolean isToBeOpened(String device) {
    Rail rail = rails.get(device);
    return (rail == null || rail.isLost()) && !absent.get(device).isActive();
  }

  /** Calls that have another device do not wait until one is open. */
  private void open(String protocol) {
    if (rails.values().stream().noneMatch(Rail::isUsable)) {
      opening.lock();
    } else if (!opening.tryLock()) {
      return;
    }
    try {
      openAbsent(protocol);
    } finally {
      opening.unlock();
    }
  }

  private void openAbsent(String protocol) {
    Map<String, Rail> open = new HashMap<>(rails);
    for (String device : settings.devices()) {
      if (isToBeOpened(device)) {
        open.remove(device);
        try {
          open.put(device, Rail.open(device, Remote.of(uri(protocol)), settings, counters));
          absent.get(device).reset();
        } catch (RuntimeException e) {
          absent.get(device).begin();
          if (settings.devices().size() == 1) {
            throw e;
          }
          Log.once(Level.WARNING, name + device, device + " is not used: " + e.getMessage());
        }
      }
    }
    rails = Map.copyOf(open);
  }

  private URI uri(String protocol) {
    String literal = host.indexOf(':') < 0 ? host : "[" + host + "]";
    return URI.create(protocol + "://" + literal + (port < 0 ? "" : ":" + port));
  }

  /** The server has moved an object. */
  void moved(Operation operation, long bytes) {
    declined.get(operation).reset();
    unreachable.reset();
    window.widen();
    if (operation.direction == Buffers.Direction.GET) {
      counters.count(S3Counter.GET);
      counters.add(S3Counter.GET_BYTES, bytes);
    } else {
      hasRead = true;
      counters.count(S3Counter.PUT);
      counters.add(S3Counter.PUT_BYTES, bytes);
    }
  }

  /**
   * An attempt did not move its object.
   *
   * @param counter why
   */
  void fail(Operation operation, S3Counter counter, String reason) {
    counters.count(counter);
    window.narrow();
    if (counter == S3Counter.IGNORED && operation.direction == Buffers.Direction.PUT) {
      declined.values().forEach(Pause::beginForEver); // Each attempt may store an empty object.
    }
    declined.get(operation).begin();
    Log.once(
        counter == S3Counter.PROTOCOL_ERRORS ? Level.WARNING : Level.INFO,
        name + operation + counter,
        operation + " of " + name + " goes by HTTP for some time: " + reason);
  }

  /** {@return the bytes of registered memory} */
  long bytes() {
    return rails.values().stream().mapToLong(rail -> rail.buffers().bytes()).sum();
  }

  /** {@return the bytes of registered memory that nothing uses} */
  long freeBytes() {
    return rails.values().stream().mapToLong(rail -> rail.buffers().freeBytes()).sum();
  }

  @Override
  public String toString() {
    return name;
  }
}
