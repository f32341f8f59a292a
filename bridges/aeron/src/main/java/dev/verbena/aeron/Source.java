package dev.verbena.aeron;

import java.net.InetSocketAddress;

/** A peer whose messages a socket accepts, with the cookie that it puts into each. */
final class Source {
  final InetSocketAddress address;
  final long nonce;
  final int number;
  final int cookie;
  final Pending<DatagramQueue> queue;
  long lastHello;

  /** The sequence of the last HELLO, and whether it has been answered. */
  int sequence;

  boolean isAnswered;

  /** Whether a message of the peer has arrived that names its nonce. */
  boolean isConfirmed;

  Source(
      InetSocketAddress address, long nonce, int number, int cookie, Pending<DatagramQueue> queue) {
    this.address = address;
    this.nonce = nonce;
    this.number = number;
    this.cookie = cookie;
    this.queue = queue;
  }
}
