package dev.verbena.tools.command;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/**
 * A TCP connection to the peer, for the data that both ends need before RDMA is possible. A server
 * waits for its client without a limit; once they are connected, each wait has one.
 */
public final class Peer implements AutoCloseable {
  private final Socket socket;
  private final Duration patience;
  private final DataInputStream in;
  private final OutputStream out;

  private Peer(Socket socket, Duration patience) throws IOException {
    this.socket = socket;
    this.patience = patience;
    socket.setTcpNoDelay(true);
    socket.setSoTimeout(Math.toIntExact(patience.toMillis()));
    this.in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
    this.out = socket.getOutputStream();
  }

  public static Peer accept(int port, Duration patience) throws IOException {
    try (ServerSocket server = new ServerSocket()) {
      server.setReuseAddress(true);
      server.bind(new InetSocketAddress(port), 1);
      BothEnds.serverIsReady();
      return new Peer(server.accept(), patience);
    }
  }

  public static Peer connect(String host, int port, Duration patience) throws IOException {
    Socket socket = new Socket();
    try {
      InetSocketAddress address = new InetSocketAddress(InetAddress.getByName(host), port);
      socket.connect(address, Math.toIntExact(patience.toMillis()));
      return new Peer(socket, patience);
    } catch (IOException e) {
      socket.close();
      ConnectException named =
          new ConnectException("Couldn't connect to " + host + ":" + port + ": " + e.getMessage());
      named.initCause(e);
      throw named;
    }
  }

  public void send(byte[] bytes) throws IOException {
    out.write(bytes);
    out.flush();
  }

  /** Sends a text of up to 64 KiB; a longer one is cut. */
  public void sendText(String text) throws IOException {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    char length = (char) Math.min(bytes.length, Character.MAX_VALUE);
    send(
        ByteBuffer.allocate(Character.BYTES + length)
            .putChar(length)
            .put(bytes, 0, length)
            .array());
  }

  /** Receives a text of the peer. */
  public String receiveText(String what) throws IOException {
    int length = ByteBuffer.wrap(receive(Character.BYTES, what)).getChar();
    return new String(receive(length, what), StandardCharsets.UTF_8);
  }

  /** Returns the address of this end. */
  public InetAddress localAddress() {
    return socket.getLocalAddress();
  }

  /**
   * Receives a number of bytes.
   *
   * @param what what they are, for the message if they do not come
   */
  public byte[] receive(int length, String what) throws IOException {
    byte[] bytes = new byte[length];
    try {
      in.readFully(bytes);
    } catch (EOFException e) {
      throw closed(what, e);
    } catch (SocketTimeoutException e) {
      throw new IOException(
          "the peer %s is connected but has not sent %s within %d s"
              .formatted(socket.getRemoteSocketAddress(), what, patience.toSeconds()),
          e);
    }
    return bytes;
  }

  private static IOException closed(String what, EOFException cause) {
    return new IOException("the peer closed the TCP connection before it sent " + what, cause);
  }

  /**
   * Waits for the next byte for some time, and leaves it unread; returns whether it came.
   *
   * @param what what it is, for the message if the peer closes the connection
   */
  public boolean comes(Duration time, String what) throws IOException {
    socket.setSoTimeout(Math.toIntExact(time.toMillis()));
    in.mark(1);
    try {
      if (in.read() < 0) {
        throw closed(what, new EOFException());
      }
      in.reset();
      return true;
    } catch (SocketTimeoutException _) {
      return false;
    } finally {
      socket.setSoTimeout(Math.toIntExact(patience.toMillis()));
    }
  }

  /** Exchanges the same number of bytes with the peer, and returns those of the peer. */
  public byte[] exchange(byte[] own, String what) throws IOException {
    send(own);
    return receive(own.length, what);
  }

  /**
   * Waits until both ends have called this method.
   *
   * @param what what the peer has reached then, for the message if it does not
   */
  public void meetAt(char point, String what) throws IOException {
    exchange(new byte[] {(byte) point}, what);
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
