package dev.verbena.sockets;

import java.net.SocketException;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** The options of a channel. */
final class Options {
  private static final int MAX_LINGER = 0xffff;
  private static final int MIN_BUFFER = 4096;
  private static final int MAX_BUFFER = 1 << 28;
  private static final int MAX_INLINE = 0xfffe;
  private static final int MAX_AREAS = 0x7f00;

  /** Both halves of a receive buffer are multiples of a cache line. */
  private static final int BUFFER_UNIT = 128;

  /** The least and the largest value of an option; a boolean one has 0 and 1. */
  private record Range(int min, int max) {
    static final Range BOOLEAN = new Range(0, 1);
    static final Range SECONDS = new Range(1, 0x7fff); // As for TCP on Linux.
    static final Range COUNT = new Range(1, 0x7f);
    static final Range BUFFER = new Range(MIN_BUFFER, MAX_BUFFER);
    static final Range REQUESTS = new Range(Sizes.LEAST_REQUESTS, Sizes.MOST_REQUESTS);
  }

  /** The options of the keep-alive, in the order of {@link StreamKeepAlive}, unset as on Linux. */
  private static final Map<SocketOption<?>, Integer> KEEP_ALIVE = keepAliveOptions();

  private static final Map<SocketOption<?>, Range> OF_LISTENERS = ofListeners();
  private static final Map<SocketOption<?>, Range> OF_CONNECTIONS = ofConnections();

  private final Map<SocketOption<?>, Range> ranges;
  private final Map<SocketOption<?>, Integer> values = new ConcurrentHashMap<>();

  private Options(Map<SocketOption<?>, Range> ranges, Sizes sizes) {
    this.ranges = ranges;
    ranges.keySet().forEach(option -> values.put(option, 0));
    values.put(StandardSocketOptions.SO_LINGER, -1);
    values.putAll(KEEP_ALIVE);
    values.put(StandardSocketOptions.SO_SNDBUF, sizes.sendBuffer());
    values.put(StandardSocketOptions.SO_RCVBUF, sizes.receiveBuffer());
    values.put(RdmaSocketOptions.RDMA_SQSIZE, sizes.sends());
    values.put(RdmaSocketOptions.RDMA_RQSIZE, sizes.receives());
    values.put(RdmaSocketOptions.RDMA_INLINE, sizes.inline());
    values.put(RdmaSocketOptions.RDMA_IOMAPSIZE, sizes.areas());
  }

  /** Returns the options of a listening channel. */
  static Options ofListener() {
    Options options = new Options(OF_LISTENERS, Sizes.DEFAULT);
    options.values.put(StandardSocketOptions.SO_REUSEADDR, 1); // As the JDK does on Linux.
    return options;
  }

  /** Returns the options of a connection. */
  static Options ofConnection() {
    return new Options(OF_CONNECTIONS, Sizes.DEFAULT);
  }

  /** Returns those of a connection that a listener with these options has accepted. */
  Options ofAccepted() {
    Options accepted = new Options(OF_CONNECTIONS, sizes());
    KEEP_ALIVE.keySet().forEach(option -> accepted.values.put(option, number(option)));
    return accepted;
  }

  /** Returns the names of the options of listening channels. */
  static Set<SocketOption<?>> namesOfListeners() {
    return OF_LISTENERS.keySet();
  }

  /** Returns the names of the options of connections. */
  static Set<SocketOption<?>> namesOfConnections() {
    return OF_CONNECTIONS.keySet();
  }

  private static Map<SocketOption<?>, Range> ofListeners() {
    Map<SocketOption<?>, Range> all = new LinkedHashMap<>();
    all.put(StandardSocketOptions.SO_REUSEADDR, Range.BOOLEAN);
    all.put(StandardSocketOptions.SO_RCVBUF, Range.BUFFER);
    all.put(RdmaSocketOptions.RDMA_SQSIZE, Range.REQUESTS);
    all.put(RdmaSocketOptions.RDMA_RQSIZE, Range.REQUESTS);
    all.put(RdmaSocketOptions.RDMA_INLINE, new Range(0, MAX_INLINE));
    all.put(RdmaSocketOptions.RDMA_IOMAPSIZE, new Range(0, MAX_AREAS));
    for (SocketOption<?> option : KEEP_ALIVE.keySet()) {
      all.put(option, option.name().equals("TCP_KEEPCOUNT") ? Range.COUNT : Range.SECONDS);
    }
    return Collections.unmodifiableMap(all);
  }

  private static Map<SocketOption<?>, Range> ofConnections() {
    Map<SocketOption<?>, Range> all = new LinkedHashMap<>(ofListeners());
    all.put(StandardSocketOptions.SO_SNDBUF, Range.BUFFER);
    all.put(StandardSocketOptions.SO_KEEPALIVE, Range.BOOLEAN);
    all.put(StandardSocketOptions.SO_LINGER, new Range(-1, MAX_LINGER));
    all.put(StandardSocketOptions.TCP_NODELAY, Range.BOOLEAN);
    return Collections.unmodifiableMap(all);
  }

  private static Map<SocketOption<?>, Integer> keepAliveOptions() {
    Map<SocketOption<?>, Integer> all = new LinkedHashMap<>();
    try {
      Class<?> options = Class.forName("jdk.net.ExtendedSocketOptions");
      all.put(
          (SocketOption<?>) options.getField("TCP_KEEPIDLE").get(null),
          StreamKeepAlive.UNSET.idle());
      all.put(
          (SocketOption<?>) options.getField("TCP_KEEPINTERVAL").get(null),
          StreamKeepAlive.UNSET.interval());
      all.put(
          (SocketOption<?>) options.getField("TCP_KEEPCOUNT").get(null),
          StreamKeepAlive.UNSET.count());
    } catch (ReflectiveOperationException e) {
      // There are none without the module jdk.net, which this module does not require.
    }
    return all;
  }

  /**
   * Validates an option.
   *
   * @throws UnsupportedOperationException if channels of this kind do not have it
   */
  void require(SocketOption<?> option) {
    if (!ranges.containsKey(Objects.requireNonNull(option))) {
      throw new UnsupportedOperationException("'" + option + "' not supported by RDMA sockets");
    }
  }

  <T> void set(SocketOption<T> option, T value) throws SocketException {
    if (!option.type().isInstance(value)) { // Nor null.
      throw new IllegalArgumentException(
          option + " has values of the type " + option.type().getSimpleName());
    }
    int number = value instanceof Boolean on ? (on ? 1 : 0) : (Integer) value;
    Range range = Objects.requireNonNull(ranges.get(option));
    boolean isHint = // As for TCP.
        (range.equals(Range.BUFFER) && number >= 0)
            || option.equals(StandardSocketOptions.SO_LINGER);
    if (!isHint && (number < range.min || number > range.max)) {
      String wrong = "%s: %d is not in %d..%d".formatted(option, number, range.min, range.max);
      if (KEEP_ALIVE.containsKey(option)) {
        throw new SocketException(wrong); // As for TCP.
      }
      throw new IllegalArgumentException(wrong);
    }
    values.put(option, Math.clamp(number, range.min, range.max));
  }

  <T> T get(SocketOption<T> option) {
    int number = number(option);
    return option
        .type()
        .cast(option.type() == Boolean.class ? (Object) (number != 0) : (Object) number);
  }

  private int number(SocketOption<?> option) {
    return Objects.requireNonNull(values.get(option));
  }

  /** Returns the seconds of SO_LINGER; negative if it is not set. */
  int linger() {
    return number(StandardSocketOptions.SO_LINGER);
  }

  /** Returns the keep-alive; null without SO_KEEPALIVE. */
  @Nullable StreamKeepAlive keepAlive() {
    if (number(StandardSocketOptions.SO_KEEPALIVE) == 0) {
      return null;
    }
    List<Integer> set = KEEP_ALIVE.keySet().stream().map(this::number).toList();
    return set.isEmpty()
        ? StreamKeepAlive.UNSET
        : new StreamKeepAlive(set.get(0), set.get(1), set.get(2));
  }

  /** Returns the sizes of a connection with these options. */
  Sizes sizes() {
    return new Sizes(
        number(RdmaSocketOptions.RDMA_SQSIZE),
        number(RdmaSocketOptions.RDMA_RQSIZE),
        number(RdmaSocketOptions.RDMA_INLINE),
        ConnectionData.expressible(number(RdmaSocketOptions.RDMA_IOMAPSIZE)),
        buffer(StandardSocketOptions.SO_SNDBUF),
        buffer(StandardSocketOptions.SO_RCVBUF));
  }

  private int buffer(SocketOption<?> option) {
    return Math.ceilDiv(number(option), BUFFER_UNIT) * BUFFER_UNIT;
  }
}
