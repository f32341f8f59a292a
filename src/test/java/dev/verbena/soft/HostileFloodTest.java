package dev.verbena.soft;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.address.Gid;
import dev.verbena.address.Mtu;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.Listener;
import dev.verbena.cm.PortSpace;
import dev.verbena.soft.device.DeviceCounters;
import dev.verbena.soft.transport.SoftQueuePair;
import dev.verbena.testing.Await;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.verbs.MemoryRegion;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Hostile packets of all kinds, from the address of a peer and from others: afterwards the device
 * holds no more memory than before, has nothing to do, and serves those who mean well.
 *
 * <p>{@code -Dverbena.hostile.packets=1000000} sends as many, {@code -Dverbena.hostile.seed=N}
 * others. The test prints memory and processor time before and after.
 */
class HostileFloodTest {
  private static final int PACKETS = Integer.getInteger("verbena.hostile.packets", 20_000);
  private static final long SEED = Long.getLong("verbena.hostile.seed", 1);
  private static final int WARM_UP = 10_000;
  private static final int BATCH = 500;
  private static final int SERVICE = 7471;
  private static final int FIRST = 0x1000;
  private static final int READ_PACKETS = 16;
  private static final int GUID = 0x111;
  private static final long MORE = 24 << 20;
  private static final Duration IDLE = Duration.ofMillis(200);

  private final Random random = new Random(SEED);
  private final int port = UdpNetworkTest.freePort();
  private final InetSocketAddress device = UdpNetworkTest.at("127.0.0.2", port);
  private final InetAddress own = device.getAddress();
  private final SoftNetwork network = SoftNetwork.overUdp(device);
  private final RawRoce peer = raw("127.0.0.1");
  private final List<RawRoce> all = List.of(peer, raw("127.0.0.3"), raw("127.0.0.4"));
  private int number;
  private MemoryRegion region;

  /** The number that the device has told last. */
  private int learned;

  HostileFloodTest() throws IOException {}

  private RawRoce raw(String address) throws IOException {
    return new RawRoce(UdpNetworkTest.at(address, port), device);
  }

  @Test
  void theDeviceIsAsGoodAsNew() throws Exception {
    InetSocketAddress service = new InetSocketAddress(own, SERVICE);
    try (Arena arena = Arena.ofShared();
        Listener connections = network.call(() -> Listener.open(service));
        Listener datagrams = network.call(() -> Listener.open(PortSpace.UDP, service, 0))) {
      SoftPair.End victim = new SoftPair.End(network.device());
      connect(victim, arena);
      Thread accepting = Thread.ofVirtual().start(() -> serve(connections, true));
      Thread answering = Thread.ofVirtual().start(() -> serve(datagrams, false));
      flood(WARM_UP);
      Figures before = settled();
      long packets = packetsOut();
      long bytes = all.stream().mapToLong(RawRoce::bytesOut).sum();
      long answers = all.stream().mapToLong(RawRoce::bytesIn).sum();
      flood(PACKETS);
      Figures after = settled();
      System.out.printf(
          "%,d packets, %,d bytes in; at least %,d bytes out%nbefore: %s%nafter:  %s%n",
          packetsOut() - packets,
          all.stream().mapToLong(RawRoce::bytesOut).sum() - bytes,
          all.stream().mapToLong(RawRoce::bytesIn).sum() - answers,
          before,
          after);
      assertTrue(after.heap() - before.heap() < MORE, "heap: " + before + ", " + after);
      assertTrue(after.direct() - before.direct() < MORE, "memory: " + before + ", " + after);
      accepting.interrupt();
      answering.interrupt();
      accepting.join();
      answering.join();
      assertServes(victim);
      victim.context.close();
      victim.arena.close();
    } finally {
      network.close();
      for (RawRoce socket : all) {
        socket.close();
      }
    }
  }

  private void connect(SoftPair.End victim, Arena arena) throws IOException {
    number = victim.queuePair.number();
    region =
        victim.domain.registerMemory(
            arena.allocate(READ_PACKETS * 4096, 4096),
            AccessFlag.LOCAL_WRITE,
            AccessFlag.REMOTE_READ,
            AccessFlag.REMOTE_ATOMIC);
    victim.queuePair.connect(
        QueuePairAddress.of(7, Gid.of(peer.address))
            .withPsn(FIRST)
            .withMtu(Mtu.MTU_4096)
            .withReads(16));
    peer.fetchAdd(number, FIRST, region.start(), region.rkey());
    peer.read(number, FIRST + 1, region.start(), region.rkey(), READ_PACKETS * 4096);
  }

  /** The PSN that the queue pair expects. */
  private static int next() {
    return FIRST + 1 + READ_PACKETS;
  }

  /** The queue pair answers its peer. */
  private void assertServes(SoftPair.End victim) throws IOException {
    SoftQueuePair queuePair =
        network.engine.locked(
            () -> (SoftQueuePair) network.fabric.devices().getFirst().queuePair(number));
    assertTrue(network.engine.locked(queuePair::canReceive), "the queue pair is in state ERR");
    long before = counters().sentPackets;
    peer.read(number, next(), region.start(), region.rkey(), 8);
    settle();
    assertEquals(before + 1, counters().sentPackets);
    assertEquals(number, victim.queuePair.number());
  }

  /** Accepts each second request, rejects the others, and closes them. */
  private static void serve(Listener listener, boolean hasQueuePairs) {
    try {
      for (int i = 0; ; i++) {
        try (Endpoint request = listener.take()) {
          if (hasQueuePairs && i % 2 == 0) {
            var _ = request.id().queues().createQueuePair(QueuePairCapacity.of(1));
            request.id().accept();
          }
        } catch (RuntimeException e) {
          // The request was taken back.
        }
      }
    } catch (InterruptedException e) {
      // The end of the test.
    }
  }

  private DeviceCounters counters() {
    return network.engine.locked(() -> network.fabric.devices().getFirst().counters);
  }

  private long packetsOut() {
    return all.stream().mapToLong(RawRoce::packetsOut).sum();
  }

  /** Waits until all that was sent is handled and nothing is left to do. */
  private void settle() {
    Await.until(
        "all packets are handled",
        () ->
            network.engine.locked(
                    () -> {
                      DeviceCounters counters = network.fabric.devices().getFirst().counters;
                      return counters.receivedPackets + counters.malformedPackets;
                    })
                >= packetsOut());
    Await.until("an idle network", network.engine::isIdle);
  }

  private void flood(int packets) throws IOException {
    for (int i = 0; i < packets; i += BATCH) {
      for (int j = 0; j < BATCH; j++) {
        send();
      }
      settle();
      for (RawRoce socket : all) {
        for (RawRoce.Mad mad = socket.poll(); mad != null; mad = socket.poll()) {
          learned = mad.id() == 0 ? learned : mad.id();
        }
      }
    }
  }

  private void send() throws IOException {
    RawRoce from = all.get(random.nextInt(all.size()));
    int id = random.nextInt(1000);
    switch (random.nextInt(16)) {
      case 0 -> peer.send(number, next() + 1 + random.nextInt(1 << 20), 4 * random.nextInt(256));
      case 1 -> peer.send(number, FIRST - 1 - random.nextInt(1 << 20), 60);
      case 2, 3 -> peer.read(number, FIRST + 1, region.start(), region.rkey(), READ_PACKETS * 4096);
      case 4 -> peer.fetchAdd(number, FIRST, region.start(), region.rkey());
      case 5 -> from.send(random.nextInt(1 << 24), random.nextInt(), 60);
      case 6 -> {
        byte[] bytes = new byte[12 + 4 * random.nextInt(300)];
        random.nextBytes(bytes);
        bytes[0] = (byte) 0xff; // Of no transport, so that no counter is left out.
        from.send(bytes);
      }
      case 7, 8, 9 ->
          from.manage(
              RawRoce.REQ,
              RawRoce.request(id, GUID, id, from.address, own, SERVICE, random.nextInt(32)));
      case 10 ->
          from.manage(
              RawRoce.REQ, RawRoce.request(id, GUID, id, all.getFirst().address, own, SERVICE, 31));
      case 11 ->
          from.manage(
              RawRoce.REJ, RawRoce.rejection(id, learned, random.nextInt(3), random.nextInt(40)));
      case 12 -> from.manage(RawRoce.RTU, id, learned);
      case 13 -> from.manage(RawRoce.DREQ, RawRoce.disconnection(id, learned, id));
      case 14 -> from.manage(RawRoce.SIDR_REQ, RawRoce.lookup(id, from.address, own, SERVICE));
      default -> {
        ByteBuffer message = ByteBuffer.allocate(232);
        random.nextBytes(message.array());
        from.manage(random.nextInt(RawRoce.REQ, RawRoce.APR + 1), message.putInt(4, learned));
      }
    }
  }

  /** What the process uses when it has nothing to do. */
  private record Figures(long heap, long direct, long resident, Duration processor) {
    @Override
    public String toString() {
      return "heap %,d, direct memory %,d, resident %,d kB, processor %s of an idle %s"
          .formatted(heap, direct, resident, processor, IDLE);
    }
  }

  private Figures settled() throws IOException, InterruptedException {
    settle();
    Await.until(
        "the end of TIMEWAIT", () -> network.engine.locked(network.engine.timers()::isEmpty));
    System.gc();
    long processor = Long.MAX_VALUE;
    for (int i = 0; i < 5; i++) { // The compiler of the JVM may still be at work.
      long before = processorTime();
      Await.pass(IDLE, "the processor time meanwhile is printed");
      processor = Math.min(processor, processorTime() - before);
    }
    System.gc();
    return new Figures(
        ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed(),
        ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
            .filter(pool -> pool.getName().equals("direct"))
            .mapToLong(BufferPoolMXBean::getMemoryUsed)
            .sum(),
        resident(),
        Duration.ofNanos(processor));
  }

  private static long processorTime() {
    return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
        .getProcessCpuTime();
  }

  private static long resident() throws IOException {
    return Files.readAllLines(Path.of("/proc/self/status"), US_ASCII).stream()
        .filter(line -> line.startsWith("VmRSS"))
        .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
        .findFirst()
        .orElseThrow();
  }
}
