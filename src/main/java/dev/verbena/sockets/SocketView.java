package dev.verbena.sockets;

import java.io.IOException;
import java.net.SocketException;
import java.net.SocketOption;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NetworkChannel;

/** What the sockets of both kinds of channels do alike: they throw what sockets throw. */
final class SocketView {
  private SocketView() {}

  /** Returns the exception of a socket whose channel is closed. */
  static SocketException closed(ClosedChannelException e) {
    SocketException closed = new SocketException("Socket is closed");
    closed.initCause(e);
    return closed;
  }

  static void requireOpen(NetworkChannel channel) throws SocketException {
    if (!channel.isOpen()) {
      throw new SocketException("Socket is closed");
    }
  }

  static <T> void set(NetworkChannel channel, SocketOption<T> name, T value)
      throws SocketException {
    try {
      channel.setOption(name, value);
    } catch (IOException e) {
      throw ofOption(e);
    }
  }

  static <T> T get(NetworkChannel channel, SocketOption<T> name) throws SocketException {
    try {
      return channel.getOption(name);
    } catch (IOException e) {
      throw ofOption(e);
    }
  }

  private static SocketException ofOption(IOException e) {
    return switch (e) {
      case SocketException failed -> failed;
      case ClosedChannelException closed -> closed(closed);
      default -> throw new AssertionError("an option fails with a SocketException", e);
    };
  }
}
