package dev.verbena.sockets;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.SocketException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Converts failures of rsockets to the exceptions of NIO, with the likely cause. */
final class Failures {
  private static final String DEVICES =
      ": 'rdma link' lists the network interfaces that have an RDMA device";

  private static final int EPIPE = 32;
  private static final int ECONNRESET = 104;
  private static final int ENOTCONN = 107;
  private static final int ECONNREFUSED = 111;

  private Failures() {}

  /** Calls a function; throws its failure as an {@link IOException}. */
  static <T> T or(Supplier<T> function) throws IOException {
    try {
      return function.get();
    } catch (VerbsException e) {
      throw of(e);
    }
  }

  /** Returns the exception of a failed call. */
  static IOException of(VerbsException e) {
    return with(e, new SocketException(e.getMessage()));
  }

  /** Returns the exception of a failed receive or send. */
  static IOException ofTransfer(String function, int errno) {
    String failure = function + ": " + text(errno);
    return switch (errno) {
      case ECONNRESET, EPIPE, ENOTCONN ->
          new SocketException(
              failure + ": the peer closed the connection, ended, or cannot be reached any more");
      case Errno.EIO ->
          new SocketException(
              failure + ": the connection failed: the peer ended or cannot be reached any more");
      default -> new SocketException(failure);
    };
  }

  /** Returns the exception of a connection that was not established. */
  static IOException ofConnect(
      int errno, InetSocketAddress remote, @Nullable VerbsException cause) {
    String failure = "rconnect " + remote + ": " + text(errno);
    return with(
        cause,
        switch (errno) {
          case ECONNREFUSED ->
              new ConnectException(
                  failure
                      + ": no rsocket listens on the port; a TCP socket that listens there does"
                      + " not accept rsockets");
          case Errno.ETIMEDOUT ->
              new ConnectException(
                  failure + ": the peer did not answer; is it an RDMA device of the same network?");
          case Errno.EHOSTUNREACH, Errno.ENETUNREACH, Errno.ENODEV, Errno.EADDRNOTAVAIL ->
              new NoRouteToHostException(
                  failure
                      + ": there is no route to that address from a network interface with an"
                      + " RDMA device, and loopback addresses have none"
                      + DEVICES);
          default -> new ConnectException(failure);
        });
  }

  /** Returns the exception of an address that cannot be bound. */
  static IOException ofBind(VerbsException e, InetSocketAddress local) {
    String failure = e.function() + " " + local + ": " + text(e.errno());
    return with(
        e,
        switch (e.errno()) {
          case Errno.ENODEV, Errno.EADDRNOTAVAIL ->
              new BindException(
                  failure + ": no RDMA device of this host has the address" + DEVICES);
          case Errno.EADDRINUSE ->
              new BindException(failure + ": another RDMA listener or connection has the port");
          case Errno.EACCES ->
              new BindException(
                  failure + ": ports below 1024 need the capability CAP_NET_BIND_SERVICE");
          default -> new SocketException(failure);
        });
  }

  private static String text(int errno) {
    return Errno.text(errno) + " (" + Errno.name(errno) + ")";
  }

  private static IOException with(@Nullable Throwable cause, IOException failure) {
    if (cause != null) {
      failure.initCause(cause);
    }
    return failure;
  }
}
