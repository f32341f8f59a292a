package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.address.Gid;
import dev.verbena.address.Mtu;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.soft.transport.SoftQueuePair;
import dev.verbena.testing.Await;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Hostile packets for a reliable connection: memory and work of the device have a bound.
 *
 * <p>The packets come from the address of the peer, as those of a stranger who forges it do.
 */
class HostilePacketsTest {
  private static final int PATH_MTU = 4096;
  private static final int FIRST = 0x1000;
  private static final int PEER_NUMBER = 0x77;
  private static final int READ_LENGTH = 16 << 20;
  private static final int BATCH = 512;

  private final int port = UdpNetworkTest.freePort();
  private final SoftNetwork network = SoftNetwork.overUdp(UdpNetworkTest.at("127.0.0.2", port));
  private final RawRoce peer =
      new RawRoce(UdpNetworkTest.at("127.0.0.1", port), UdpNetworkTest.at("127.0.0.2", port));
  private final Arena arena = Arena.ofShared();
  private final SoftPair.End victim = new SoftPair.End(network.device());
  private final int number = victim.queuePair.number();
  private MemoryRegion region;

  /** The PSN of the next request. */
  private int next = FIRST;

  HostilePacketsTest() throws IOException {}

  @BeforeEach
  void connect() {
    region =
        victim.domain.registerMemory(
            arena.allocate(READ_LENGTH, 4096),
            AccessFlag.LOCAL_WRITE,
            AccessFlag.REMOTE_READ,
            AccessFlag.REMOTE_ATOMIC);
    victim.queuePair.connect(
        QueuePairAddress.of(PEER_NUMBER, Gid.of(peer.address))
            .withPsn(FIRST)
            .withMtu(Mtu.MTU_4096)
            .withReads(16));
  }

  @AfterEach
  void close() throws IOException {
    victim.context.close();
    network.close();
    peer.close();
    arena.close();
    victim.arena.close();
  }

  /** What is sent while READ requests are answered. */
  enum Flood {
    /** Packets after a gap. */
    AHEAD,
    /** Packets that can be executed once the responses are sent. */
    IN_ORDER,
    /** The same request over and over again. */
    DUPLICATE_ATOMIC,
    DUPLICATE_READ
  }

  @ParameterizedTest
  @EnumSource
  void whatArrivesDuringAReadNeedsLittleMemory(Flood flood) throws IOException {
    peer.fetchAdd(number, next, region.start(), region.rkey());
    int atomic = next++;
    peer.read(number, next, region.start(), region.rkey(), 1024 * PATH_MTU);
    int read = next;
    next += 1024;
    settle(2);
    System.gc(); // Frees the direct memory of networks that were closed.
    long before = directMemory();
    long out = sent();
    long packets = peer.packetsOut();
    long bytes = peer.bytesOut();
    for (int i = 0; i < 8; i++) {
      peer.read(number, next, region.start(), region.rkey(), READ_LENGTH);
      next += READ_LENGTH / PATH_MTU;
    }
    long most = 0;
    SoftInternals internals = new SoftInternals(network);
    for (int i = 0; i < 20_000; ) {
      internals.hold(); // So that many are there at once, however slow this machine is.
      for (int end = i + BATCH; i < end; i++) {
        switch (flood) {
          case AHEAD -> peer.send(number, next + 1 + i, 60);
          case IN_ORDER -> peer.send(number, next + i, 60);
          case DUPLICATE_ATOMIC -> peer.fetchAdd(number, atomic, region.start(), region.rkey());
          case DUPLICATE_READ ->
              peer.read(number, read, region.start(), region.rkey(), 1024 * PATH_MTU);
        }
      }
      internals.release();
      awaitHandled(peer.packetsOut());
      most = Math.max(most, directMemory() - before);
    }
    settle(peer.packetsOut());
    System.out.printf(
        "%s during READ: in %,d packets, %,d bytes; out %,d packets; memory +%,d bytes%n",
        flood, peer.packetsOut() - packets, peer.bytesOut() - bytes, sent() - out, most);
    assertTrue(most < 24 << 20, most + " bytes of memory");
    assertAlive(flood == Flood.IN_ORDER);
  }

  @Test
  void duplicatesOfAReadAreAnsweredOneAtATime() throws IOException {
    int packets = 256;
    int rounds = 20;
    int duplicates = 200;
    peer.read(number, next, region.start(), region.rkey(), packets * PATH_MTU);
    settle(1);
    long before = sent();
    long bytes = peer.bytesOut();
    SoftInternals internals = new SoftInternals(network);
    for (int round = 0; round < rounds; round++) {
      internals.hold(); // They wait in the socket's buffer, so that all come while one is answered.
      for (int i = 0; i < duplicates; i++) {
        peer.read(number, next, region.start(), region.rkey(), packets * PATH_MTU);
      }
      internals.release();
      settle(peer.packetsOut());
    }
    next += packets;
    long out = sent() - before;
    System.out.printf(
        "duplicates of a READ: in %,d bytes, out %,d packets, %,d bytes%n",
        peer.bytesOut() - bytes, out, out * (PATH_MTU + 20));
    assertTrue(out >= (long) rounds * packets, "none was answered: " + out);
    // One answer for each time that the device looks into its socket, which is 64 packets.
    assertTrue(out <= (long) rounds * packets * (duplicates / 64 + 2), out + " packets");
    assertAlive(false);
  }

  private long sent() {
    return network.engine.locked(() -> network.fabric.devices().getFirst().counters.sentPackets);
  }

  private static long directMemory() {
    return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
        .filter(pool -> pool.getName().equals("direct"))
        .mapToLong(BufferPoolMXBean::getMemoryUsed)
        .sum();
  }

  private void awaitHandled(long packets) {
    Await.until(
        packets + " packets that are handled",
        () ->
            network.engine.locked(
                    () -> network.fabric.devices().getFirst().counters.receivedPackets)
                >= packets);
  }

  /** Waits until so many packets were handled and nothing is left to do. */
  private void settle(long packets) {
    awaitHandled(packets);
    Await.until("an idle network", network.engine::isIdle);
  }

  /** The next request of the peer is answered. */
  private void assertAlive(boolean ended) throws IOException {
    SoftQueuePair queuePair =
        network.engine.locked(
            () -> (SoftQueuePair) network.fabric.devices().getFirst().queuePair(number));
    if (!ended) {
      assertTrue(network.engine.locked(queuePair::canReceive), "the queue pair is in state ERR");
      long before = sent();
      peer.read(number, next, region.start(), region.rkey(), 8);
      settle(peer.packetsOut());
      assertEquals(before + 1, sent());
    }
  }
}
