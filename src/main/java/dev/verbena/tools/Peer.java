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

/** The program at the other end, over TCP: what both must know before RDMA can begin. */
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

  /** Connects to a server, or is one where there is no host to connect to. */
  static Peer meet(String host, int port) throws IOException {
    return host == null ? accept(port) : connect(host, port);
  }

  static Peer accept(int port) throws IOException {
    try (ServerSocket server = new ServerSocket()) {
      server.setReuseAddress(true);
      server.bind(new InetSocketAddress(port), 1);
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
      throw new IOException("the other end closed the TCP connection", e);
    }
    return bytes;
  }

  /** Sends as many bytes as the other end does, and returns the other's. */
  byte[] exchange(byte[] own) throws IOException {
    send(own);
    return receive(own.length);
  }

  /** Returns once both ends are here. */
  void meetAt(char point) throws IOException {
    exchange(new byte[] {(byte) point});
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
