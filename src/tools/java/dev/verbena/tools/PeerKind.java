package dev.verbena.tools;

import dev.verbena.tools.command.Peer;
import java.io.IOException;

/** What a client of {@code qualify --serve} requests: its first byte. */
enum PeerKind {
  /** Nothing: there is no more to measure. */
  END,
  /** Reliable connections (RC) by addresses exchanged over TCP. */
  RC,
  /** Unreliable datagrams (UD). */
  UD,
  /** A reliable connection by RDMA CM. */
  CM,
  /** A channel over RDMA. */
  RDMA_SOCKET,
  /** A TCP channel of the JDK between the same addresses. */
  TCP_SOCKET,
  /** A program of perftest. */
  PERFTEST;

  void send(Peer peer) throws IOException {
    peer.send(new byte[] {(byte) ('A' + ordinal())});
  }

  static PeerKind receive(Peer peer) throws IOException {
    int index = peer.receive(1, "what to measure")[0] - 'A';
    if (index < 0 || index >= values().length) {
      throw new IOException("the client requests an unknown kind of measurement: " + index);
    }
    return values()[index];
  }
}
