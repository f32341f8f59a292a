package dev.verbena.sockets;

import java.io.IOException;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The options of an rsocket. */
final class Options {
  private static final int SOL_SOCKET = 1;
  private static final int SO_REUSEADDR = 2;
  private static final int SO_SNDBUF = 7;
  private static final int SO_RCVBUF = 8;
  private static final int SO_KEEPALIVE = 9;
  private static final int IPPROTO_TCP = 6;
  private static final int TCP_NODELAY = 1;
  private static final int TCP_KEEPIDLE = 4;
  private static final int SOL_RDMA = 0x10000;
  private static final int RDMA_SQSIZE = 0;
  private static final int RDMA_RQSIZE = 1;
  private static final int RDMA_INLINE = 2;
  private static final int RDMA_IOMAPSIZE = 3;

  private static final int MAX_LINGER = 0xffff;
  private static final int MAX_KEEPIDLE = 0x7fff; // As for TCP on Linux.

  /** The range of an option of C; a boolean one has the values 0 and 1. */
  private record Native(int level, int name, int min, int max) {}

  /**
   * The options of {@code jdk.net.ExtendedSocketOptions} that channels have: none without the
   * module {@code jdk.net}, which this module does not require.
   */
  private static final Map<SocketOption<?>, Native> EXTENDED = extended();

  private static final Map<SocketOption<?>, Native> NATIVE =
      Map.of(
          StandardSocketOptions.SO_REUSEADDR,
          new Native(SOL_SOCKET, SO_REUSEADDR, 0, 1),
          StandardSocketOptions.SO_SNDBUF,
          new Native(SOL_SOCKET, SO_SNDBUF, 4096, 1 << 28),
          StandardSocketOptions.SO_RCVBUF,
          new Native(SOL_SOCKET, SO_RCVBUF, 4096, 1 << 28),
          StandardSocketOptions.SO_KEEPALIVE,
          new Native(SOL_SOCKET, SO_KEEPALIVE, 0, 1),
          StandardSocketOptions.TCP_NODELAY,
          new Native(IPPROTO_TCP, TCP_NODELAY, 0, 1),
          RdmaSocketOptions.RDMA_SQSIZE,
          new Native(SOL_RDMA, RDMA_SQSIZE, 16, 0xfffe),
          RdmaSocketOptions.RDMA_RQSIZE,
          new Native(SOL_RDMA, RDMA_RQSIZE, 16, 0xfffe),
          RdmaSocketOptions.RDMA_INLINE,
          new Native(SOL_RDMA, RDMA_INLINE, 0, 0xfffe),
          RdmaSocketOptions.RDMA_IOMAPSIZE,
          new Native(SOL_RDMA, RDMA_IOMAPSIZE, 0, 0x7f00));

  static final Set<SocketOption<?>> OF_LISTENERS =
      set(
          Set.of(),
          StandardSocketOptions.SO_REUSEADDR,
          StandardSocketOptions.SO_RCVBUF,
          RdmaSocketOptions.RDMA_SQSIZE,
          RdmaSocketOptions.RDMA_RQSIZE,
          RdmaSocketOptions.RDMA_INLINE,
          RdmaSocketOptions.RDMA_IOMAPSIZE);

  static final Set<SocketOption<?>> OF_CONNECTIONS =
      set(
          EXTENDED.keySet(),
          StandardSocketOptions.SO_REUSEADDR,
          StandardSocketOptions.SO_SNDBUF,
          StandardSocketOptions.SO_RCVBUF,
          StandardSocketOptions.SO_KEEPALIVE,
          StandardSocketOptions.SO_LINGER,
          StandardSocketOptions.TCP_NODELAY,
          RdmaSocketOptions.RDMA_SQSIZE,
          RdmaSocketOptions.RDMA_RQSIZE,
          RdmaSocketOptions.RDMA_INLINE,
          RdmaSocketOptions.RDMA_IOMAPSIZE);

  private final Rsocket rsocket;
  private final Set<SocketOption<?>> supported;

  /** The seconds that {@code close} waits; negative if that was not set. */
  private volatile int linger = -1;

  Options(Rsocket rsocket, Set<SocketOption<?>> supported) {
    this.rsocket = rsocket;
    this.supported = supported;
  }

  private static Set<SocketOption<?>> set(
      Set<SocketOption<?>> extended, SocketOption<?>... options) {
    Set<SocketOption<?>> all = new LinkedHashSet<>(List.of(options));
    all.addAll(extended);
    return Collections.unmodifiableSet(all);
  }

  private static Map<SocketOption<?>, Native> extended() {
    try {
      Class<?> options = Class.forName("jdk.net.ExtendedSocketOptions");
      return Map.of(
          (SocketOption<?>) options.getField("TCP_KEEPIDLE").get(null),
          new Native(IPPROTO_TCP, TCP_KEEPIDLE, 1, MAX_KEEPIDLE));
    } catch (ReflectiveOperationException e) {
      return Map.of();
    }
  }

  private static @Nullable Native ofC(SocketOption<?> option) {
    Native extended = EXTENDED.get(option);
    return extended != null ? extended : NATIVE.get(option);
  }

  /**
   * Validates an option.
   *
   * @throws UnsupportedOperationException if channels of this kind do not have it
   */
  void require(SocketOption<?> option) {
    if (!supported.contains(Objects.requireNonNull(option))) {
      throw new UnsupportedOperationException("'" + option + "' not supported by rsockets");
    }
  }

  <T> void set(SocketOption<T> option, T value) throws IOException {
    if (!option.type().isInstance(value)) { // Nor null.
      throw new IllegalArgumentException(
          option + " has values of the type " + option.type().getSimpleName() + ": " + value);
    }
    int number = value instanceof Boolean on ? (on ? 1 : 0) : (Integer) value;
    Native c = ofC(option);
    if (c == null) { // Rsockets store SO_LINGER without effect.
      linger = Math.max(-1, Math.min(number, MAX_LINGER));
      return;
    }
    boolean isBuffer = c.level == SOL_SOCKET && number >= 0; // A hint, as for TCP.
    if (!isBuffer && (number < c.min || number > c.max)) {
      throw new IllegalArgumentException(
          "%s: %d is not in %d..%d".formatted(option, number, c.min, c.max));
    }
    rsocket.setOption(c.level, c.name, Math.clamp(number, c.min, c.max));
  }

  /** Returns how long {@code close} waits, in nanoseconds. */
  long linger() {
    return linger < 0 ? ClosingThreads.LIMIT : TimeUnit.SECONDS.toNanos(linger);
  }

  <T> T get(SocketOption<T> option) throws IOException {
    Native c = ofC(option);
    int number = c == null ? linger : rsocket.option(c.level, c.name);
    return option
        .type()
        .cast(option.type() == Boolean.class ? (Object) (number != 0) : (Object) number);
  }
}
