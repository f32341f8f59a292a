package dev.verbena.tools;

/** What a client of {@code qualify --serve} requests: the first text that it sends. */
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
  PERFTEST
}
