package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.soft.SoftNetwork;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** A thread that reads events of a stream tells the threads that wait for them. */
class MissedEventsTest {
  private static final SelectorProvider RDMA = RdmaSelectorProvider.provider();
  private static final InetAddress CLIENT = InetAddress.ofLiteral("192.0.2.1");
  private static final InetAddress SERVER = InetAddress.ofLiteral("192.0.2.2");
  private static final int ROUNDS = 300;
  private static final int BYTES = 100;

  /** Bytes arrive while a thread shuts the output down, which reads all events. */
  @Test
  void readBesideShutdownOutputIsToldOfData() throws Exception {
    try (SoftNetwork network = SoftNetwork.create()) {
      network.addDevice("client", CLIENT);
      network.addDevice("server", SERVER);
      try (ServerSocketChannel listener = network.call(RDMA::openServerSocketChannel)) {
        network.call(() -> listener.bind(new InetSocketAddress(SERVER, 0)));
        for (int round = 0; round < ROUNDS; round++) {
          try (SocketChannel client =
              network.call(() -> RDMA.openSocketChannel().bind(new InetSocketAddress(CLIENT, 0)))) {
            client.connect(listener.getLocalAddress());
            try (SocketChannel server = listener.accept()) {
              exchange(client, server, round % BYTES);
            }
          }
        }
      }
    }
  }

  private static void exchange(SocketChannel client, SocketChannel server, int before)
      throws Exception {
    CountDownLatch arrived = new CountDownLatch(before);
    FutureTask<Integer> read =
        new FutureTask<>(
            () -> {
              int total = 0;
              while (total < BYTES) {
                total += client.read(ByteBuffer.allocate(1));
                arrived.countDown();
              }
              return total;
            });
    Thread _ = Thread.ofVirtual().start(read);
    Future<Integer> written =
        ChannelBehaviour.inBackground(
            () -> {
              int total = 0;
              while (total < BYTES) {
                total += server.write(ByteBuffer.allocate(1));
                LockSupport.parkNanos(1);
              }
              return total;
            });
    arrived.await();
    client.shutdownOutput();
    assertEquals(BYTES, written.get());
    assertEquals(BYTES, read.get());
  }
}
