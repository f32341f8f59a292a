package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import dev.verbena.soft.SoftNetwork;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Future;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Both ends of a stream write and end it, each at a time of its own, on a network that loses
 * packets: all bytes arrive.
 */
class LossyEndsTest {
  private static final SelectorProvider RDMA = RdmaSelectorProvider.provider();
  private static final InetAddress CLIENT = InetAddress.ofLiteral("192.0.2.1");
  private static final InetAddress SERVER = InetAddress.ofLiteral("192.0.2.2");
  private static final int SEEDS = 12;

  /** How an end goes on when it has written. */
  enum Script {
    SHUTDOWN_AND_READ {
      @Override
      byte[] run(SocketChannel channel) throws IOException {
        channel.shutdownOutput();
        return readAll(channel);
      }
    },

    READ_HALF_AND_SHUTDOWN {
      @Override
      byte[] run(SocketChannel channel) throws IOException {
        ByteBuffer target = ByteBuffer.allocate(1 << 16);
        while (target.position() < SIZE / 2) {
          channel.read(target);
        }
        channel.shutdownOutput();
        byte[] rest = readAll(channel);
        return ByteBuffer.allocate(target.position() + rest.length)
            .put(target.flip())
            .put(rest)
            .array();
      }
    },

    READ_ALL_AND_CLOSE {
      @Override
      byte[] run(SocketChannel channel) throws IOException {
        ByteBuffer target = ByteBuffer.allocate(SIZE);
        while (target.hasRemaining() && channel.read(target) >= 0) {
          // Until all is there.
        }
        return Arrays.copyOf(target.array(), target.position());
      }
    };

    static final int SIZE = 5000;

    abstract byte[] run(SocketChannel channel) throws IOException;

    private static byte[] readAll(SocketChannel channel) throws IOException {
      ByteBuffer target = ByteBuffer.allocate(1 << 16);
      while (channel.read(target) >= 0) {
        // Until the end.
      }
      return Arrays.copyOf(target.array(), target.position());
    }
  }

  private static byte[] data(long seed) {
    byte[] bytes = new byte[Script.SIZE];
    new Random(seed).nextBytes(bytes);
    return bytes;
  }

  @ParameterizedTest
  @EnumSource
  void allBytesArrive(Script script) throws Exception {
    for (Script other : Script.values()) {
      for (int seed = 1; seed <= SEEDS; seed++) {
        try (SoftNetwork network = SoftNetwork.create()) {
          network.addDevice("client", CLIENT);
          network.addDevice("server", SERVER);
          exchange(network, script, other, seed);
        }
      }
    }
  }

  private static void exchange(SoftNetwork network, Script script, Script other, long seed)
      throws Exception {
    try (ServerSocketChannel listener = network.call(RDMA::openServerSocketChannel)) {
      network.call(() -> listener.bind(new InetSocketAddress(SERVER, 0)));
      try (SocketChannel client =
          network.call(() -> RDMA.openSocketChannel().bind(new InetSocketAddress(CLIENT, 0)))) {
        client.connect(listener.getLocalAddress());
        try (SocketChannel server = listener.accept()) {
          network.faults().seed(seed).loss(0.15);
          List<Future<byte[]>> ends = new ArrayList<>();
          ends.add(ChannelBehaviour.inBackground(() -> end(client, script, seed)));
          ends.add(ChannelBehaviour.inBackground(() -> end(server, other, -seed)));
          assertArrayEquals(data(-seed), ends.get(0).get(), "seed " + seed + " " + other);
          assertArrayEquals(data(seed), ends.get(1).get(), "seed " + seed + " " + other);
        }
      }
    }
  }

  private static byte[] end(SocketChannel channel, Script script, long seed) throws IOException {
    try (channel) {
      channel.write(ByteBuffer.wrap(data(seed)));
      return script.run(channel);
    }
  }
}
