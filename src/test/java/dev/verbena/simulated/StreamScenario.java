package dev.verbena.simulated;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.sockets.RdmaSocketOptions;
import dev.verbena.sockets.RdmaSockets;
import dev.verbena.soft.Faults;
import dev.verbena.soft.Simulation;
import dev.verbena.soft.SoftHosts;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.nio.channels.NetworkChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** A server and its clients, whose streams have two {@linkplain SimulatedEnd ends} each. */
final class StreamScenario {
  /** What there is beside packets that are lost. */
  enum Trouble {
    NONE,

    /** Ends of streams are closed, aborted or interrupted at any time. */
    ENDS,

    /** A host is killed, a device is removed, the network is cut, or functions fail. */
    HOSTS
  }

  private static final String[] FUNCTIONS = {
    "ibv_alloc_pd",
    "ibv_create_comp_channel",
    "ibv_create_cq",
    "ibv_modify_qp",
    "ibv_reg_mr",
    "rdma_accept",
    "rdma_connect",
    "rdma_create_event_channel",
    "rdma_create_id",
    "rdma_create_qp",
    "rdma_disconnect",
    "rdma_migrate_id",
    "rdma_reject",
    "rdma_resolve_addr",
    "rdma_resolve_route",
  };

  private static final int[] ERRORS = {Errno.ENOMEM, Errno.EINVAL, Errno.EIO};

  private static final int MOST_CONNECTIONS = 2;
  private static final int MOST_KEEP_ALIVE = 10;

  /** With the keep-alive, and all that is sent again before a peer is found to be lost. */
  private static final Duration LONGEST = Duration.ofMinutes(10);

  private final Simulation simulation;
  private final RandomGenerator random;
  private final SoftHosts hosts;
  private final Trouble trouble;

  /** Whether so few packets are lost that no request fails for the retry count. */
  private final boolean isReliable;

  private final List<Thread> actors = new ArrayList<>();
  private final Map<SocketAddress, SimulatedEnd> clients = new HashMap<>();
  private final Map<SocketAddress, SimulatedEnd> servers = new HashMap<>();

  private StreamScenario(Simulation simulation, SoftHosts hosts, Trouble trouble) {
    this.simulation = simulation;
    this.random = simulation.random();
    this.hosts = hosts;
    this.trouble = trouble;
    isReliable = trouble != Trouble.HOSTS && random.nextInt(3) > 0;
    Faults faults = hosts.faults().vary(random);
    if (isReliable) {
      Faults _ = faults.loss(random.nextDouble(0.02)).corrupt(random.nextDouble(0.01));
    }
  }

  /** Runs a scenario. */
  static void run(Simulation simulation, Trouble trouble) throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      StreamScenario scenario = new StreamScenario(simulation, hosts, trouble);
      hosts.call(scenario::runAll);
      Simulation.sleep(Duration.ofMinutes(4)); // The ends go on, also those of RDMA CM.
    }
  }

  @SuppressWarnings("try") // It is closed while others accept, too.
  private @Nullable Void runAll() throws Exception {
    try (ServerSocketChannel server =
        RdmaSockets.openServerSocketChannel(StandardProtocolFamily.INET)) {
      setSizes(server);
      server.bind(new InetSocketAddress(hosts.serverAddress(), 4711));
      SocketAddress address = server.getLocalAddress();
      Thread acceptor = simulation.actor("acceptor", () -> accept(server));
      int connections = 1 + random.nextInt(MOST_CONNECTIONS);
      for (int i = 0; i < connections; i++) {
        start("client " + i, () -> connect(address));
      }
      if (trouble == Trouble.HOSTS) {
        start("trouble", this::loseHost);
      }
      for (int i = 0; i < actors.size(); i++) { // Servers are added meanwhile.
        actors.get(i).join();
      }
      server.close();
      acceptor.join();
      for (int i = 0; i < actors.size(); i++) {
        actors.get(i).join();
      }
    }
    assertTrue(simulation.now().compareTo(LONGEST) < 0, "the actors were late");
    clients.forEach(
        (address, client) -> {
          SimulatedEnd peer = servers.get(address);
          if (peer != null) {
            client.requireBytesFrom(peer, isReliable);
            peer.requireBytesFrom(client, isReliable);
          }
        });
    return null;
  }

  private void start(String name, Simulation.Code code) {
    actors.add(simulation.actor(name, code));
  }

  private void connect(SocketAddress server) throws Exception {
    try (SocketChannel channel = RdmaSockets.openSocketChannel(StandardProtocolFamily.INET)) {
      setSizes(channel);
      SimulatedEnd end;
      try {
        boolean _ = channel.connect(server);
        SocketAddress address = channel.getLocalAddress();
        end = end("client", address, false, channel);
        clients.put(address, end);
      } catch (IOException e) {
        require(!isReliable, e);
        return;
      }
      end.run();
    }
  }

  private void accept(ServerSocketChannel server) throws Exception {
    while (true) {
      try {
        SocketChannel channel = server.accept();
        SocketAddress address = channel.getRemoteAddress();
        SimulatedEnd end = end("server", address, true, channel);
        servers.put(address, end);
        start(end.toString(), end::run);
      } catch (IOException e) {
        require(!isReliable || !server.isOpen(), e);
        return;
      }
    }
  }

  private static void require(boolean isExpected, IOException e) throws IOException {
    if (!isExpected) {
      throw e;
    }
  }

  private SimulatedEnd end(
      String name, SocketAddress client, boolean isServer, SocketChannel channel)
      throws IOException {
    // A peer that aborts sends one DREQ, as Linux does, which can be lost.
    channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
    channel.setOption(
        keepAlive(channel, "TCP_KEEPIDLE"), (int) SimulatedEnd.LONGEST_TRANSFER.toSeconds());
    if (trouble == Trouble.HOSTS) {
      for (String option : List.of("TCP_KEEPIDLE", "TCP_KEEPINTERVAL", "TCP_KEEPCOUNT")) {
        channel.setOption(keepAlive(channel, option), 1 + random.nextInt(MOST_KEEP_ALIVE));
      }
    }
    int pattern = isServer ? ~client.hashCode() : client.hashCode();
    return new SimulatedEnd(simulation, name, channel, pattern, trouble != Trouble.NONE);
  }

  /** An option of the module jdk.net, which the tests are compiled without. */
  @SuppressWarnings("unchecked")
  private static SocketOption<Integer> keepAlive(SocketChannel channel, String name) {
    return channel.supportedOptions().stream()
        .filter(option -> option.name().equals(name))
        .map(option -> (SocketOption<Integer>) option)
        .findFirst()
        .orElseThrow();
  }

  private void loseHost() throws InterruptedException {
    Simulation.sleep(Duration.ofNanos(random.nextLong(1L << (8 + random.nextInt(17)))));
    String device = random.nextBoolean() ? "client" : "server";
    Faults faults = hosts.faults();
    switch (random.nextInt(9)) {
      case 0 -> faults.kill(device);
      case 1 -> hosts.network().removeDevice(device);
      case 2 -> faults.loseDevice(device);
      case 3 -> faults.partition("client", "server");
      case 4 -> faults.portDown(device, 1);
      case 5 -> faults.disturb(random, Duration.ofSeconds(20));
      case 6 -> {
        faults.fillQueues(device);
        Simulation.sleep(Duration.ofNanos(random.nextInt(1_000_000)));
        faults.freeQueues();
      }
      default -> {
        int calls = 1 + random.nextInt(4);
        for (int i = 0; i < calls; i++) {
          faults.fail(
              FUNCTIONS[random.nextInt(FUNCTIONS.length)],
              1 + random.nextInt(3),
              ERRORS[random.nextInt(ERRORS.length)]);
        }
      }
    }
  }

  /** Small sizes, so that each end waits for what the other grants. */
  private void setSizes(NetworkChannel channel) throws IOException {
    set(channel, StandardSocketOptions.SO_RCVBUF, 4096, 8192);
    set(channel, StandardSocketOptions.SO_SNDBUF, 4096, 8192);
    set(channel, RdmaSocketOptions.RDMA_SQSIZE, 16, 16);
    set(channel, RdmaSocketOptions.RDMA_RQSIZE, 16, 16);
    set(channel, RdmaSocketOptions.RDMA_INLINE, 0, 128);
  }

  private void set(NetworkChannel channel, SocketOption<Integer> option, int least, int more)
      throws IOException {
    if (random.nextInt(4) > 0 && channel.supportedOptions().contains(option)) {
      channel.setOption(option, least + random.nextInt(more));
    }
  }
}
