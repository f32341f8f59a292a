package dev.verbena.tools;

import dev.verbena.tools.command.Peer;
import java.io.IOException;

/** What a client of {@code qualify --serve} requests: its first byte. */
enum PeerKind {
  /** Nothing: there is no more to measure. */
  END('E'),
  /** Reliable connections (RC) by addresses exchanged over TCP. */
  RC('R'),
  /** Unreliable datagrams (UD). */
  UD('U'),
  /** A reliable connection by RDMA CM. */
  CM('C'),
  /** A channel over RDMA. */
  RDMA_SOCKET('S'),
  /** A TCP channel of the JDK between the same addresses. */
  TCP_SOCKET('T'),
  /** A program of perftest. */
  PERFTEST('P');

  private final char code;

  PeerKind(char code) {
    this.code = code;
  }

  void send(Peer peer) throws IOException {
    peer.send(new byte[] {(byte) code});
  }

  static PeerKind receive(Peer peer) throws IOException {
    int code = peer.receive(1, "what to measure")[0];
    for (PeerKind kind : values()) {
      if (kind.code == code) {
        return kind;
      }
    }
    throw new IOException("the client requests an unknown kind of measurement: " + code);
  }
}
