package dev.verbena.benchmarks;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.util.Locale;

/**
 * Moves datagrams of the sizes that a device over UDP moves, by a plain DatagramChannel: what
 * results/udp.md compares the device with.
 *
 * <p>The arguments of the receiver: {@code ADDRESS}. Those of the sender: {@code ADDRESS PEER SIZE
 * DATAGRAMS_PER_ACK COUNT}. A fixed number of datagrams is under way, so that none is lost.
 */
public final class PlainDatagrams {
  private static final int PORT = 14_792;
  private static final int WINDOW = 128;
  private static final int ACK = 20;
  private static final int ROUNDS = 5;
  private static final int MAX = 8192;

  private PlainDatagrams() {}

  /** Runs the receiver or the sender. */
  public static void main(String[] args) throws IOException {
    try (DatagramChannel channel = DatagramChannel.open()) {
      channel.setOption(StandardSocketOptions.SO_RCVBUF, 4 << 20);
      channel.bind(new InetSocketAddress(InetAddress.getByName(args[0]), PORT));
      if (args.length == 1) {
        receive(channel);
      } else {
        SocketAddress peer = new InetSocketAddress(InetAddress.getByName(args[1]), PORT);
        int perAck = Integer.parseInt(args[3]);
        for (int round = 0; round < ROUNDS; round++) {
          send(channel, peer, Integer.parseInt(args[2]), perAck, Integer.parseInt(args[4]));
        }
        ByteBuffer end = ByteBuffer.allocateDirect(1);
        channel.send(end, peer);
      }
    }
  }

  /** Acknowledges until a datagram of one byte arrives; the first two bytes say how often. */
  private static void receive(DatagramChannel channel) throws IOException {
    ByteBuffer datagram = ByteBuffer.allocateDirect(MAX);
    ByteBuffer ack = ByteBuffer.allocateDirect(ACK);
    for (long received = 1; ; received++) {
      SocketAddress sender = channel.receive(datagram.clear());
      if (datagram.position() == 1) {
        return;
      }
      if (received % datagram.getShort(0) == 0) {
        channel.send(ack.clear(), sender);
      }
    }
  }

  private static void send(
      DatagramChannel channel, SocketAddress peer, int size, int perAck, int count)
      throws IOException {
    ByteBuffer datagram = ByteBuffer.allocateDirect(size).putShort(0, (short) perAck);
    ByteBuffer ack = ByteBuffer.allocateDirect(ACK);
    long start = System.nanoTime();
    for (int sent = 0, acknowledged = 0; acknowledged < count; ) {
      while (sent < count && sent - acknowledged < WINDOW) {
        channel.send(datagram.clear(), peer);
        sent++;
      }
      channel.receive(ack.clear());
      acknowledged += perAck;
    }
    double seconds = (System.nanoTime() - start) / 1e9;
    System.out.printf(
        Locale.ROOT,
        "%d bytes: %.0f datagrams/s, %.1f MiB/s%n",
        size,
        count / seconds,
        (double) count * size / seconds / (1 << 20));
  }
}
