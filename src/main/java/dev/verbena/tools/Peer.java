package dev.verbena.tools;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;

/** A TCP connection to the peer, for the data that both ends need before RDMA is possible. */
final class Peer implements AutoCloseable {
  private final Socket socket;
  private final DataInputStream in;
  private final OutputStream out;

  private Peer(Socket socket) throws IOException {
    this.socket = socket;
    socket.setTcpNoDelay(true);
    this.in = new DataInputStream(socket.getInputStream());
    this.out = socket.getOutputStream();
  }

  /** Connects to a server, or accepts a client if the host is null. */
  static Peer meet(String host, int port) throws IOException {
    return host == null ? accept(port) : connect(host, port);
  }

  static Peer accept(int port) throws IOException {
    try (ServerSocket server = new ServerSocket()) {
      server.setReuseAddress(true);
      server.bind(new InetSocketAddress(port), 1);
      BothEnds.serverIsReady();
      return new Peer(server.accept());
    }
  }

  static Peer connect(String host, int port) throws IOException {
    try {
      return new Peer(new Socket(InetAddress.getByName(host), port));
    } catch (IOException e) {
      ConnectException named =
          new ConnectException("Couldn't connect to " + host + ":" + port + ": " + e.getMessage());
      named.initCause(e);
      throw named;
    }
  }

  void send(byte[] bytes) throws IOException {
    out.write(bytes);
    out.flush();
  }

  byte[] receive(int length) throws IOException {
    byte[] bytes = new byte[length];
    try {
      in.readFully(bytes);
    } catch (EOFException e) {
      throw new IOException("the peer closed the TCP connection", e);
    }
    return bytes;
  }

  /** Exchanges the same number of bytes with the peer, and returns those of the peer. */
  byte[] exchange(byte[] own) throws IOException {
    send(own);
    return receive(own.length);
  }

  /** Waits until both ends have called this method. */
  void meetAt(char point) throws IOException {
    exchange(new byte[] {(byte) point});
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
