package dev.verbena.tools;

import static dev.verbena.testing.Need.BY_HAND;
import static dev.verbena.testing.Need.KERNEL;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Ports;
import dev.verbena.testing.Program;
import dev.verbena.testing.UdpWire;
import dev.verbena.testing.Words;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.AckTimeout;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A software device over UDP against perftest's programs on Soft-RoCE, in both roles. */
@Needs({KERNEL, BY_HAND})
class UdpPerftestTest {
  private static final int COUNT = 20;
  private static final int SIZE = 5000;

  @RegisterExtension static final UdpWire wire = new UdpWire();
  private static SoftNetwork network;

  @BeforeAll
  static void connect() throws Exception {
    network = wire.network(UdpWire.SOFT);
  }

  /** The end in Java: a queue pair on the software device, and the exchange. */
  private static final class End implements AutoCloseable {
    private final PerftestExchange exchange;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment memory = arena.allocate(SIZE, 4096);
    private final Context context = network.device().open();
    private final ProtectionDomain domain = context.allocateProtectionDomain();
    private final CompletionQueue sent = context.createCompletionQueue(COUNT);
    private final CompletionQueue received = context.createCompletionQueue(COUNT);
    private final QueuePair queuePair =
        QueuePair.builder(domain, QueuePairType.RC)
            .completions(sent)
            .receiveCompletions(received)
            .capacity(QueuePairCapacity.of(COUNT))
            .create();
    private final MemoryRegion region =
        domain.registerMemory(
            memory,
            AccessFlag.LOCAL_WRITE,
            AccessFlag.REMOTE_WRITE,
            AccessFlag.REMOTE_READ,
            AccessFlag.REMOTE_ATOMIC);
    private PerftestExchange.Remote remote;

    End(PerftestExchange exchange) {
      this.exchange = exchange;
    }

    /**
     * Exchanges keys so often and connects; both ends know then that the other one is connected.
     */
    void connect(int times) throws IOException {
      queuePair.setup().mtu(PerftestExchange.MTU);
      queuePair.setup().ackTimeout(AckTimeout.atLeast(Duration.ofSeconds(4))).init();
      ReceiveList receives = new ReceiveList(1, 1);
      receives.local(0, region, 0, SIZE);
      for (int i = 0; i < COUNT; i++) {
        assertEquals(1, queuePair.post(receives));
      }
      for (int i = 0; i < times; i++) {
        step();
      }
      queuePair.connect(remote.address());
      step();
      step();
    }

    void step() throws IOException {
      remote = exchange.keys(queuePair.localAddress(), region);
    }

    /** Posts the request of a list and waits until it has completed. */
    void run(SendList list) {
      assertEquals(1, queuePair.post(list));
      await(sent);
    }

    void send() {
      SendList list = new SendList(1, 1);
      list.send(0).local(region, 0, SIZE).signaled();
      run(list);
    }

    void receive() {
      await(received);
    }

    private static void await(CompletionQueue queue) {
      Completions completions = new Completions(1);
      Await.until(() -> "a completion on " + queue, () -> queue.poll(completions) == 1);
      assertEquals(CompletionStatus.SUCCESS, completions.status(0), () -> completions.describe(0));
    }

    @Override
    public void close() throws IOException {
      exchange.close();
      context.close();
      arena.close();
    }
  }

  /** What the end in Java does. */
  private interface Part {
    void play(End end) throws IOException;
  }

  private static String[] c(String program, int port, String... more) throws IOException {
    String gid = Integer.toString(wire.gidIndex(false));
    String[] words = {program, "-F", "-d", UdpWire.DEVICE, "-x", gid, "-m", "1024"};
    return Words.of(words, "-u", "20", "-n", COUNT, "-p", port, more);
  }

  private static void servesC(Part part, String program, String... more) throws Exception {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Program client =
            Program.start(
                c(program, socket.getLocalPort(), Words.of(more, Words.of("127.0.0.1"))));
        End end = new End(PerftestExchange.accept(socket, client))) {
      part.play(end);
      client.endsWell();
    }
  }

  private static void visitsC(Part part, String program, String... more) throws Exception {
    int port = Integer.parseInt(Ports.free());
    try (Program server = Program.start(c(program, port, more));
        End end = new End(PerftestExchange.connect(server, port))) {
      part.play(end);
      server.endsWell();
    }
  }

  private static final String[] SIZES = {"-s", Integer.toString(SIZE)};

  @DeviceTest
  void messages() throws Exception {
    servesC(
        end -> {
          end.connect(1);
          end.step();
          for (int i = 0; i < COUNT; i++) {
            end.receive();
            end.send();
          }
          end.step();
          end.exchange.end();
        },
        "ib_send_lat",
        SIZES);
    visitsC(
        end -> {
          end.connect(1);
          end.step();
          for (int i = 0; i < COUNT; i++) {
            end.send();
            end.receive();
          }
          end.step();
          end.exchange.end();
        },
        "ib_send_lat",
        SIZES);
  }

  /** The client of a program that measures bandwidth, or the server, which only waits. */
  private static void bandwidth(End end, Runnable request) throws IOException {
    end.connect(1);
    for (int i = 0; i < COUNT; i++) {
      request.run();
    }
    end.step();
    end.exchange.reports();
    end.step();
    end.exchange.end();
  }

  private static void nothing() {}

  @DeviceTest
  void writes() throws Exception {
    servesC(end -> bandwidth(end, UdpPerftestTest::nothing), "ib_write_bw", SIZES);
    visitsC(
        end ->
            bandwidth(
                end,
                () -> {
                  SendList list = new SendList(1, 1);
                  list.write(0)
                      .local(end.region, 0, SIZE)
                      .remote(end.remote.memory(), end.remote.rkey())
                      .signaled();
                  end.run(list);
                }),
        "ib_write_bw",
        SIZES);
  }

  @DeviceTest
  void reads() throws Exception {
    servesC(end -> bandwidth(end, UdpPerftestTest::nothing), "ib_read_bw", SIZES);
    visitsC(
        end ->
            bandwidth(
                end,
                () -> {
                  SendList list = new SendList(1, 1);
                  list.read(0)
                      .local(end.region, 0, SIZE)
                      .remote(end.remote.memory(), end.remote.rkey())
                      .signaled();
                  end.run(list);
                }),
        "ib_read_bw",
        SIZES);
  }

  @DeviceTest
  void atomics() throws Exception {
    servesC(
        end -> {
          end.connect(2);
          end.step();
          end.exchange.end();
        },
        "ib_atomic_lat");
    visitsC(
        end -> {
          end.connect(2);
          for (int i = 0; i < COUNT; i++) {
            SendList list = new SendList(1, 1);
            list.fetchAndAdd(0, 1)
                .local(end.region, 0, Long.BYTES)
                .remote(end.remote.memory(), end.remote.rkey())
                .signaled();
            end.run(list);
          }
          end.step();
          end.exchange.end();
        },
        "ib_atomic_lat");
  }
}
