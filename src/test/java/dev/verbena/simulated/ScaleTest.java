package dev.verbena.simulated;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.soft.Faults;
import dev.verbena.soft.Simulation;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Await;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SendList;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;

/**
 * Hosts with many connections, for one simulated minute: {@code mvn test -Dtest=ScaleTest
 * -Dverbena.scale.hosts=1000 -Dverbena.scale.connections=100000} writes to {@code target/scale.tsv}
 * what they take.
 */
@Tag("scale")
@EnabledForJreRange(minVersion = 24)
class ScaleTest {
  private static final int HOSTS = Integer.getInteger("verbena.scale.hosts", 100);
  private static final int CONNECTIONS = Integer.getInteger("verbena.scale.connections", 2_000);
  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final long LONGEST_PAUSE = Duration.ofMillis(100).toNanos();
  private static final double LOSS = 0.001;
  private static final int ENTRIES = 4_096;
  private static final int LENGTH = 64;
  private static final long MEGABYTE = 1 << 20;

  /** What does not depend on the number of connections: classes, code, packets on their way. */
  private static final long FIXED = 16 * MEGABYTE;

  private static final Path TABLE = Path.of("target/scale.tsv");

  private final long begin = System.nanoTime();

  /** A host, with the connections that it uses. */
  private static final class Host {
    final Context context;
    final ProtectionDomain domain;
    final CompletionQueue completions;
    final MemoryRegion region;
    final List<Connection> connections = new ArrayList<>();

    Host(SoftNetwork network, int number) throws UnknownHostException {
      InetAddress address =
          InetAddress.getByAddress(new byte[] {10, 0, (byte) (number >> 8), (byte) number});
      context = network.addDevice("host" + number, address).open();
      domain = context.allocateProtectionDomain();
      completions = context.completionQueue(ENTRIES).withoutCapacityWarning().create();
      region = domain.allocateMemory(4096, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
    }

    QueuePair queuePair() {
      return QueuePair.builder(domain, QueuePairType.RC)
          .completions(completions)
          .capacity(QueuePairCapacity.of(2))
          .create();
    }
  }

  private record Connection(QueuePair queuePair, Host peer) {}

  private static Host[] hosts(SoftNetwork network) throws UnknownHostException {
    Host[] hosts = new Host[HOSTS];
    for (int i = 0; i < HOSTS; i++) {
      hosts[i] = new Host(network, i);
    }
    return hosts;
  }

  private static void connect(Host[] hosts, RandomGenerator random) {
    for (int i = 0; i < CONNECTIONS; i++) {
      int from = i % HOSTS;
      Host peer = hosts[(from + 1 + random.nextInt(HOSTS - 1)) % HOSTS];
      QueuePair active = hosts[from].queuePair();
      QueuePair passive = peer.queuePair();
      active.connect(passive.localAddress());
      passive.connect(active.localAddress());
      hosts[from].connections.add(new Connection(active, peer));
    }
  }

  /** Writes to peers for a minute, one request at a time. */
  private static int use(Host host, Simulation simulation) throws InterruptedException {
    RandomGenerator random = simulation.random();
    Duration end = simulation.now().plus(MINUTE);
    SendList list = new SendList(1, 1);
    Completions completions = new Completions(1);
    int count = 0;
    while (simulation.now().compareTo(end) < 0) {
      Simulation.sleep(Duration.ofNanos(1 + random.nextLong(LONGEST_PAUSE)));
      Connection to = host.connections.get(random.nextInt(host.connections.size()));
      var _ =
          list.write(0)
              .local(host.region, 0, LENGTH)
              .remote(to.peer.region.start(), to.peer.region.rkey())
              .signaled();
      assertEquals(1, to.queuePair.post(list));
      while (host.completions.poll(completions) == 0) {
        Simulation.sleep(Duration.ofMillis(1));
      }
      assertTrue(completions.isSuccess(0), () -> completions.describe(0));
      count++;
    }
    return count;
  }

  @Test
  void memoryIsBoundedByTheConnections() throws Exception {
    Files.createDirectories(TABLE.getParent());
    long before = heap("at the start");
    Simulation.run(0, this::run);
    Await.until("the memory is free", () -> heapInUse() <= before + FIXED);
    long _ = heap("ended");
  }

  private void run(Simulation simulation) throws Exception {
    try (SoftNetwork network = SoftNetwork.create()) {
      Host[] hosts = hosts(network);
      long _ = heap("hosts");
      connect(hosts, simulation.random());
      long connected = heap("connected");
      Faults _ = network.faults().seed(0).loss(LOSS);
      int[] requests = {0};
      List<Thread> actors = new ArrayList<>();
      for (Host host : hosts) {
        actors.add(
            simulation.actor(
                "host",
                () -> {
                  int count = use(host, simulation);
                  requests[0] += count;
                }));
      }
      for (Thread actor : actors) {
        actor.join();
      }
      long used = heap("%,d requests".formatted(requests[0]));
      assertTrue(requests[0] > HOSTS * 1_000, () -> requests[0] + " requests");
      assertTrue(used <= connected + connected / 10 + FIXED, () -> "grown: " + (used - connected));
      for (Host host : hosts) {
        host.context.close();
      }
    }
  }

  private static long heapInUse() {
    System.gc();
    return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
  }

  /** Writes a line of the table, and returns the bytes of the Java heap in use. */
  private long heap(String when) throws IOException {
    long heap = heapInUse();
    long resident =
        Files.readAllLines(Path.of("/proc/self/status")).stream()
            .filter(line -> line.startsWith("VmRSS:"))
            .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) * 1024)
            .findFirst()
            .orElseThrow();
    Object[] columns = {
      HOSTS,
      CONNECTIONS,
      when,
      heap / MEGABYTE,
      resident / MEGABYTE,
      (System.nanoTime() - begin) / 1e9
    };
    Files.writeString(
        TABLE,
        "%d\t%d\t%s\t%d MB\t%d MB\t%.1f s%n".formatted(columns),
        StandardOpenOption.CREATE,
        StandardOpenOption.APPEND);
    return heap;
  }
}
