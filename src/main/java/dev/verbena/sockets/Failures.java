package dev.verbena.sockets;

import dev.verbena.Errno;
import dev.verbena.RdmaException;
import dev.verbena.VerbsException;
import dev.verbena.cm.ConnectionEvent;
import dev.verbena.cm.EventType;
import dev.verbena.cm.RejectReason;
import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.SocketException;
import java.nio.channels.Channel;
import java.nio.channels.ClosedChannelException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Converts failures of RDMA to the exceptions of NIO, with the likely cause. */
final class Failures {
  private Failures() {}

  static void requireOpen(Channel channel) throws ClosedChannelException {
    if (!channel.isOpen()) {
      throw new ClosedChannelException();
    }
  }

  /** Calls a function; throws its failure as an {@link IOException}. */
  static <T> T or(Supplier<T> function) throws IOException {
    try {
      return function.get();
    } catch (RdmaException e) {
      throw of(e);
    }
  }

  /** Returns the exception of a failed call. */
  static IOException of(RdmaException e) {
    return with(e, new SocketException(e.getMessage()));
  }

  /** Returns the exception of a connection that could not be requested. */
  static IOException ofConnect(RdmaException e, InetSocketAddress remote) {
    int errno = e instanceof VerbsException failed ? failed.errno() : 0;
    return ofConnect(errno, e.getMessage(), remote, e);
  }

  /** Returns the exception of a connection that was not established. */
  static IOException ofConnect(ConnectionEvent event, InetSocketAddress remote) {
    if (event.type() == EventType.REJECTED) {
      boolean isRefused =
          event.rejectReason().map(RejectReason.INVALID_SERVICE_ID::equals).orElse(true);
      return ofConnect(isRefused ? Errno.ECONNREFUSED : 0, event.description(), remote, null);
    }
    // The status of a removed device would be explained as that of a missing one.
    int errno = event.type() == EventType.DEVICE_REMOVAL ? 0 : -event.status();
    return ofConnect(errno, event.description(), remote, null);
  }

  /** Returns the exception of a connection whose identifier was closed. */
  static IOException ofConnect(IllegalStateException e, InetSocketAddress remote) {
    return with(e, new ConnectException("connecting to " + remote + ": " + e.getMessage()));
  }

  /** Returns the exception of a listener that ended, for example because its device was removed. */
  static IOException ofAccept(ConnectionEvent event) {
    return new SocketException(
        "accepting connections on " + event.id() + ": " + event.description());
  }

  private static IOException ofConnect(
      int errno, String reason, InetSocketAddress remote, @Nullable RdmaException cause) {
    String failure = "connecting to " + remote + ": ";
    return with(
        cause,
        switch (errno) {
          case Errno.ECONNREFUSED ->
              new ConnectException(
                  failure
                      + "Connection refused: no RDMA socket listens on the port; a TCP socket that"
                      + " listens there does not accept RDMA connections");
          case Errno.ETIMEDOUT ->
              new ConnectException(
                  failure
                      + "Connection timed out: the peer did not answer; is it an RDMA device of the"
                      + " same network?");
          case Errno.EHOSTUNREACH, Errno.ENETUNREACH, Errno.ENODEV, Errno.EADDRNOTAVAIL ->
              new NoRouteToHostException(failure + reason);
          default -> new ConnectException(failure + reason);
        });
  }

  /** Returns the exception of an address that cannot be bound. */
  static IOException ofBind(RuntimeException e) {
    int errno = e instanceof VerbsException failed ? failed.errno() : 0;
    if (e instanceof IllegalArgumentException) { // A loopback address.
      errno = Errno.EADDRNOTAVAIL;
    }
    return with(
        e,
        switch (errno) {
          case Errno.ENODEV, Errno.EADDRNOTAVAIL, Errno.EADDRINUSE, Errno.EACCES ->
              new BindException(e.getMessage());
          default -> new SocketException(e.getMessage());
        });
  }

  /** Returns whether {@link #ofBind} is about the port: its address has RDMA. */
  static boolean isOfPort(IOException ofBind) {
    return ofBind.getCause() instanceof VerbsException failed
        && (failed.errno() == Errno.EADDRINUSE || failed.errno() == Errno.EACCES);
  }

  private static IOException with(@Nullable Throwable cause, IOException failure) {
    if (cause != null) {
      failure.initCause(cause);
    }
    return failure;
  }
}
