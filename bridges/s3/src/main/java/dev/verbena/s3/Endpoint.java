package dev.verbena.s3;

import dev.verbena.verbs.MemoryRegion;
import java.lang.System.Logger.Level;
import java.net.URI;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

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
  private volatile List<Rail> rails = List.of();
  private volatile boolean hasRead;

  Endpoint(String name, Settings settings) {
    URI uri = URI.create("s3://" + name);
    if (uri.getHost() == null
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
        lease = buffer == null ? null : buffer.lend(this, length, place);
        lease = lease == null ? takeOf(usable(protocol), operation, length, place) : lease;
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

  /**
   * Allocates memory for data to be stored.
   *
   * @throws IllegalArgumentException if the size is not allowed
   * @throws IllegalStateException if there is no device, or no memory
   */
  S3Buffer allocate(long size) {
    if (size < 1 || size > settings.maxBytes()) {
      throw new IllegalArgumentException(
          "the size is 1 to " + settings.maxBytes() + " bytes: " + size);
    }
    try {
      for (Rail rail : usable("http")) {
        MemoryRegion region = rail.takeRegion(Buffers.Direction.PUT, size);
        if (region != null) {
          return new S3Buffer(this, rail, region, size);
        }
      }
    } catch (RuntimeException | LinkageError e) {
      throw new IllegalStateException("no memory for " + name + ": " + e.getMessage(), e);
    }
    throw new IllegalStateException(
        "all memory for " + name + " is in use: " + settings.poolBytes() + " bytes");
  }

  private Lease takeOf(List<Rail> usable, Operation operation, long length, Window.Place place) {
    int first = next.getAndIncrement();
    for (int i = 0; i < usable.size(); i++) {
      Lease lease =
          usable
              .get(Math.floorMod(first + i, usable.size()))
              .take(operation.direction, length, place);
      if (lease != null) {
        return lease;
      }
    }
    return null;
  }

  private List<Rail> usable(String protocol) {
    List<Rail> open = rails;
    if (open.isEmpty() || open.stream().anyMatch(Rail::isLost)) {
      open = open(protocol);
    }
    List<Rail> usable = open.stream().filter(Rail::isUsable).toList();
    if (usable.isEmpty()) {
      throw new IllegalStateException("no port of " + open + " is active");
    }
    return usable;
  }

  private synchronized List<Rail> open(String protocol) {
    List<Rail> open = new ArrayList<>(rails);
    open.removeIf(Rail::isLost);
    if (open.isEmpty()) {
      Remote remote = Remote.of(uri(protocol));
      if (settings.devices().isEmpty()) {
        open.add(Rail.at(remote.local(), remote, settings, counters));
      }
      for (String device : settings.devices()) {
        try {
          open.add(Rail.named(device, remote, settings, counters));
        } catch (RuntimeException e) {
          Log.once(Level.WARNING, name + device, device + " is not used: " + e.getMessage());
        }
      }
      if (open.isEmpty()) {
        throw new IllegalStateException("none of the devices can be used: " + settings.devices());
      }
    }
    rails = List.copyOf(open);
    return open;
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
    return rails.stream().mapToLong(Rail::bytes).sum();
  }

  /** {@return the bytes of registered memory that nothing uses} */
  long freeBytes() {
    return rails.stream().mapToLong(Rail::freeBytes).sum();
  }

  @Override
  public String toString() {
    return name;
  }
}
