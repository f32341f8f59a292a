package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketOption;
import java.net.SocketTimeoutException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.IllegalBlockingModeException;
import java.nio.channels.NetworkChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * How the channels and selectors of a provider behave, whichever provider it is: what its
 * superclasses show, options, and sockets.
 */
abstract class ChannelBehaviour extends SelectorBehaviour {
  @Test
  void optionsAreKept() throws Exception {
    SocketChannel channel = closing(provider().openSocketChannel());
    channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
    assertTrue(channel.getOption(StandardSocketOptions.TCP_NODELAY));
    channel.setOption(StandardSocketOptions.SO_REUSEADDR, true);
    assertTrue(channel.getOption(StandardSocketOptions.SO_REUSEADDR));
    channel.setOption(StandardSocketOptions.SO_RCVBUF, 40_000);
    assertTrue(channel.getOption(StandardSocketOptions.SO_RCVBUF) >= 40_000);
    channel.setOption(StandardSocketOptions.SO_SNDBUF, 40_000);
    assertTrue(channel.getOption(StandardSocketOptions.SO_SNDBUF) >= 40_000);
    assertEquals(-1, channel.getOption(StandardSocketOptions.SO_LINGER));
    channel.setOption(StandardSocketOptions.SO_LINGER, 5);
    assertEquals(5, channel.getOption(StandardSocketOptions.SO_LINGER));
    assertFalse(channel.getOption(StandardSocketOptions.SO_KEEPALIVE));
    assertTrue(channel.supportedOptions().contains(StandardSocketOptions.TCP_NODELAY));
    assertThrows(
        UnsupportedOperationException.class,
        () -> channel.setOption(StandardSocketOptions.IP_MULTICAST_TTL, 1));
    assertThrows(
        IllegalArgumentException.class,
        () -> channel.setOption(StandardSocketOptions.SO_RCVBUF, -1));
    assertThrows(
        IllegalArgumentException.class,
        () -> channel.setOption(StandardSocketOptions.TCP_NODELAY, null));
    ServerSocketChannel listener = closing(provider().openServerSocketChannel());
    assertTrue(listener.getOption(StandardSocketOptions.SO_REUSEADDR));
    listener.setOption(StandardSocketOptions.SO_RCVBUF, 40_000);
    assertTrue(listener.getOption(StandardSocketOptions.SO_RCVBUF) >= 40_000);
  }

  /** {@code TCP_KEEPIDLE}. */
  static SocketOption<Integer> keepaliveTime(SocketChannel channel) {
    return option(channel, "TCP_KEEPIDLE");
  }

  /** An option of the module jdk.net, which the tests are compiled without. */
  static SocketOption<Integer> option(NetworkChannel channel, String name) {
    for (SocketOption<?> option : channel.supportedOptions()) {
      if (option.name().equals(name)) {
        @SuppressWarnings("unchecked")
        SocketOption<Integer> found = (SocketOption<Integer>) option;
        return found;
      }
    }
    throw new AssertionError(name + " of " + channel.supportedOptions());
  }

  @Test
  void keepaliveIsSwitchedOnAndOff() throws Exception {
    SocketChannel client = connected().client();
    SocketOption<Integer> time = keepaliveTime(client);
    assertEquals(Integer.class, time.type());
    client.setOption(time, 7);
    client.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
    assertTrue(client.getOption(StandardSocketOptions.SO_KEEPALIVE));
    client.setOption(time, 8);
    assertEquals(8, client.getOption(time));
    client.setOption(StandardSocketOptions.SO_KEEPALIVE, false);
    assertFalse(client.getOption(StandardSocketOptions.SO_KEEPALIVE));
    assertThrows(IllegalArgumentException.class, () -> client.setOption(time, null));
  }

  @ParameterizedTest
  @CsvSource({"TCP_KEEPIDLE, 7200, 32767", "TCP_KEEPINTERVAL, 75, 32767", "TCP_KEEPCOUNT, 9, 127"})
  void keepaliveOptionsAreThoseOfLinux(String name, int unset, int most) throws Exception {
    try (ServerSocketChannel listener = listener();
        SocketChannel client = provider().openSocketChannel()) {
      for (NetworkChannel channel : List.of(client, listener)) {
        SocketOption<Integer> option = option(channel, name);
        assertEquals(unset, channel.getOption(option));
        for (int value : new int[] {most, 1}) {
          assertEquals(value, channel.setOption(option, value).getOption(option));
        }
        for (int value : new int[] {-1, 0, most + 1}) {
          assertThrows(SocketException.class, () -> channel.setOption(option, value));
        }
        assertEquals(1, channel.setOption(option, 1).getOption(option));
      }
    }
  }

  @Test
  void acceptedChannelsHaveTheKeepaliveOptionsOfTheirListener() throws Exception {
    try (ServerSocketChannel listener = listener()) {
      listener.setOption(option(listener, "TCP_KEEPIDLE"), 11);
      listener.setOption(option(listener, "TCP_KEEPINTERVAL"), 12);
      listener.setOption(option(listener, "TCP_KEEPCOUNT"), 13);
      var accepted = inBackground(listener::accept);
      client().connect(listener.getLocalAddress());
      SocketChannel server = closing(accepted.get());
      assertEquals(11, server.getOption(option(server, "TCP_KEEPIDLE")));
      assertEquals(12, server.getOption(option(server, "TCP_KEEPINTERVAL")));
      assertEquals(13, server.getOption(option(server, "TCP_KEEPCOUNT")));
      assertFalse(server.getOption(StandardSocketOptions.SO_KEEPALIVE));
    }
  }

  @Test
  void socketsAreViewsOfChannels() throws Exception {
    ServerSocketChannel listener = listener();
    var accepted = inBackground(() -> listener.socket().accept());
    Socket client = closing(provider().openSocketChannel()).socket();
    client.bind(connecting());
    assertFalse(client.isConnected());
    client.setTcpNoDelay(true);
    client.connect(listener.getLocalAddress(), 100_000);
    assertTrue(client.isConnected() && client.isBound() && client.getTcpNoDelay());
    Socket server = closing(accepted.get());
    assertEquals(client.getLocalSocketAddress(), server.getRemoteSocketAddress());
    assertEquals(client.getPort(), server.getLocalPort());
    assertEquals(client.getInetAddress(), server.getLocalAddress());
    client.getOutputStream().write(random(100));
    assertArrayEquals(random(100), server.getInputStream().readNBytes(100));
    server.setSoTimeout(30);
    assertThrows(SocketTimeoutException.class, () -> server.getInputStream().read());
    client.shutdownOutput();
    assertTrue(client.isOutputShutdown());
    assertEquals(-1, server.getInputStream().read());
    client.close();
    assertTrue(client.isClosed());
    assertFalse(client.getChannel().isOpen());
    listener.socket().setSoTimeout(30);
    assertThrows(SocketTimeoutException.class, () -> listener.socket().accept());
  }

  @Test
  void socketsSetTheOptionsThatTheirChannelsHave() throws Exception {
    SocketChannel channel = connected().client();
    Socket socket = channel.socket();
    socket.setOOBInline(false);
    assertFalse(socket.getOOBInline());
    if (channel.supportedOptions().contains(StandardSocketOptions.IP_TOS)) {
      socket.setTrafficClass(0x10);
      assertEquals(0x10, channel.getOption(StandardSocketOptions.IP_TOS));
      assertEquals(0x10, socket.getTrafficClass());
      socket.setOOBInline(true);
      assertTrue(socket.getOOBInline());
      assertThrows(IllegalArgumentException.class, () -> socket.setTrafficClass(256));
    } else {
      assertThrows(SocketException.class, () -> socket.setTrafficClass(0x10));
      assertEquals(0, socket.getTrafficClass());
      assertThrows(SocketException.class, () -> socket.setOOBInline(true));
    }
    channel.close();
    assertThrows(SocketException.class, () -> socket.setTrafficClass(0x10));
    assertThrows(SocketException.class, socket::getTrafficClass);
    assertThrows(SocketException.class, () -> socket.setOOBInline(false));
    assertThrows(SocketException.class, socket::getOOBInline);
  }

  @Test
  void socketOfANonBlockingListenerAcceptsAConnectionThatWaits() throws Exception {
    ServerSocketChannel listener = listener();
    listener.configureBlocking(false);
    ServerSocket socket = listener.socket();
    assertThrows(IllegalBlockingModeException.class, socket::accept);
    Selector selector = selector();
    listener.register(selector, SelectionKey.OP_ACCEPT);
    client().connect(listener.getLocalAddress());
    assertEquals(1, selector.select());
    socket.setSoTimeout(30);
    assertThrows(IllegalBlockingModeException.class, socket::accept);
    socket.setSoTimeout(0);
    Socket accepted = closing(socket.accept());
    assertTrue(accepted.isConnected() && accepted.getChannel().isBlocking());
    assertThrows(IllegalBlockingModeException.class, socket::accept);
  }

  @Test
  void closingBesideWaitingThreadsIsSafe() throws Exception {
    for (int i = 0; i < 10; i++) {
      Pair pair = connected();
      var read = inBackground(() -> pair.client().read(ByteBuffer.allocateDirect(100)));
      var write = inBackground(() -> pair.client().write(ByteBuffer.allocateDirect(8 << 20)));
      var close = CompletableFuture.runAsync(() -> closeQuietly(pair.client()));
      closeQuietly(pair.server());
      close.get();
      await(read);
      await(write);
    }
  }

  private static void closeQuietly(SocketChannel channel) {
    try {
      channel.close();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}
