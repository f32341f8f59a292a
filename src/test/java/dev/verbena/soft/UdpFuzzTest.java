package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.internal.foreign.Memory;
import dev.verbena.soft.device.DeviceCounters;
import dev.verbena.soft.engine.Engine;
import dev.verbena.soft.transport.SoftQueuePair;
import dev.verbena.soft.wire.Icrc;
import dev.verbena.soft.wire.ManagementDatagram;
import dev.verbena.soft.wire.Opcode;
import dev.verbena.soft.wire.Packet;
import dev.verbena.soft.wire.Psn;
import dev.verbena.soft.wire.RoceCodec;
import dev.verbena.testing.Await;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;

/**
 * Packets of any content arrive at a device with a live connection, most of them with the GIDs, the
 * queue pair number and the ICRC that make the device look at them.
 *
 * <p>{@code -Dverbena.fuzz.packets=1000000} sends as many, {@code -Dverbena.fuzz.seed=N} others.
 */
class UdpFuzzTest {
  private static final int PACKETS = Integer.getInteger("verbena.fuzz.packets", 20_000);
  private static final long SEED = Long.getLong("verbena.fuzz.seed", 1);
  private static final int BATCH = 32;
  private static final int GUARD = 4096;
  private static final byte CANARY = 0x5c;

  /** Errors that the network's thread logs. */
  private static final class Errors extends Handler {
    final Queue<LogRecord> records = new ConcurrentLinkedQueue<>();

    @Override
    public void publish(LogRecord entry) {
      records.add(entry);
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}
  }

  private final Random random = new Random(SEED);
  private final ByteBuffer buffer = ByteBuffer.allocateDirect(8192);
  private final long address = MemorySegment.ofBuffer(buffer).address();
  private final Icrc icrc = new Icrc();
  private final Packet packet = new Packet();

  @Test
  void hostilePacketsDoNoHarm() throws Exception {
    Errors errors = new Errors();
    Logger logger = Logger.getLogger(Engine.class.getName());
    logger.addHandler(errors);
    Logger events = Logger.getLogger("dev.verbena");
    events.setLevel(Level.OFF); // Each connection ends with an event.
    int port = UdpNetworkTest.freePort();
    try (SoftNetwork left = SoftNetwork.overUdp(UdpNetworkTest.at("127.0.0.1", port));
        SoftNetwork right = SoftNetwork.overUdp(UdpNetworkTest.at("127.0.0.2", port));
        DatagramChannel attacker = DatagramChannel.open()) {
      attacker.bind(UdpNetworkTest.at("127.0.0.1", 0));
      packet.sourceGidLow = 0xffff_7f00_0001L;
      packet.destinationGidLow = 0xffff_7f00_0002L;
      icrc.ports(((InetSocketAddress) attacker.getLocalAddress()).getPort(), port);
      int connections = 0;
      for (int sent = 0; sent < PACKETS; connections++) {
        sent += attack(left, right, attacker, UdpNetworkTest.at("127.0.0.2", port), sent);
      }
      assertTrue(connections > 0);
      try (UdpNetworkTest.Ends ends = new UdpNetworkTest.Ends(left, right)) {
        SoftPair.transfer(ends.a, ends.b, 3, 20_000); // The device is as good as new.
      }
    } finally {
      logger.removeHandler(errors);
      events.setLevel(null);
    }
    assertEquals(
        List.of(), errors.records.stream().map(LogRecord::getThrown).toList(), "seed " + SEED);
  }

  /** Attacks a connection until it ends or enough packets were sent; returns their number. */
  private int attack(
      SoftNetwork left,
      SoftNetwork right,
      DatagramChannel attacker,
      InetSocketAddress target,
      int before)
      throws IOException, InterruptedException {
    int sent = 0;
    try (Arena arena = Arena.ofShared();
        UdpNetworkTest.Ends ends = new UdpNetworkTest.Ends(left, right)) {
      MemorySegment guarded = arena.allocate(3L * GUARD, GUARD).fill(CANARY);
      MemoryRegion region =
          ends.b.domain.registerMemory(
              guarded.asSlice(GUARD, GUARD),
              AccessFlag.LOCAL_WRITE,
              AccessFlag.REMOTE_WRITE,
              AccessFlag.REMOTE_READ,
              AccessFlag.REMOTE_ATOMIC);
      SoftPair.transfer(ends.a, ends.b, 1, 100);
      SoftQueuePair victim = SoftInternals.of(ends.b.queuePair);
      while (sent + before < PACKETS && right.engine.locked(victim::canReceive)) {
        long handled = handled(right);
        for (int i = 0; i < BATCH; i++) {
          make(victim, region, expected(right, victim));
          assertEquals(buffer.remaining(), attacker.send(buffer, target));
        }
        sent += BATCH;
        awaitHandled(right, handled + BATCH);
      }
      for (long at = 0; at < GUARD; at++) {
        assertEquals(CANARY, guarded.get(ValueLayout.JAVA_BYTE, at), "before the region");
        assertEquals(CANARY, guarded.get(ValueLayout.JAVA_BYTE, 2 * GUARD + at), "after it");
      }
      region.close();
    }
    return Math.max(sent, BATCH);
  }

  private int expected(SoftNetwork network, SoftQueuePair queuePair) {
    return network.engine.locked(() -> queuePair.attributes.getInt("rq_psn")) + 1;
  }

  private static long handled(SoftNetwork network) {
    return network.engine.locked(
        () -> {
          DeviceCounters counters = network.fabric.devices().getFirst().counters;
          return counters.receivedPackets + counters.malformedPackets;
        });
  }

  private static void awaitHandled(SoftNetwork network, long count) {
    Await.until(
        () -> count + " packets, after " + handled(network), () -> handled(network) >= count);
  }

  /** Makes a datagram. */
  private void make(SoftQueuePair victim, MemoryRegion region, int psn) {
    int opcode = random.nextInt(10) == 0 ? random.nextInt(256) : random.nextInt(0x20);
    int length = 0;
    if (RoceCodec.extensions(opcode) >= 0) {
      packet.reset(opcode, victim.number, psn + random.nextInt(-2, 8) & Psn.MASK);
      packet.ackRequested = random.nextBoolean();
      packet.address = region.start() + random.nextInt(-64, GUARD + 64);
      packet.remoteKey = random.nextInt(8) == 0 ? random.nextInt() : region.rkey();
      packet.syndrome = random.nextInt(256);
      packet.immediate = random.nextInt(4) == 0 ? region.rkey() : random.nextInt();
      packet.length = random.nextInt(3) == 0 ? 0 : random.nextInt(4097);
      packet.dmaLength =
          switch (random.nextInt(8)) {
            case 0 -> random.nextInt();
            case 1 -> random.nextInt(GUARD);
            default -> packet.length;
          };
      packet.queueKey = ManagementDatagram.QUEUE_KEY;
      length = RoceCodec.write(packet, address);
    }
    switch (random.nextInt(6)) {
      case 0 -> length = random.nextInt(0, 300) * 4; // Truncated, or with what was there before.
      case 1 -> {
        for (int i = random.nextInt(8); i >= 0; i--) {
          Memory.putByte(address + random.nextInt(RoceCodec.BTH + 32), (byte) random.nextInt());
        }
      }
      case 2 -> length = management();
      default -> {}
    }
    length = Math.max(length, random.nextInt(10) == 0 ? random.nextInt(16) : RoceCodec.BTH);
    if (length >= RoceCodec.BTH) {
      int crc = icrc.compute(packet, buffer, address, length);
      Memory.putInt(address + length, random.nextInt(8) == 0 ? random.nextInt() : crc);
      length += Icrc.LENGTH;
    }
    buffer.limit(length).position(0);
  }

  /** Makes what was written a management datagram, of the communication manager or not. */
  private int management() {
    packet.reset(Opcode.UD | Opcode.SEND_ONLY, 1, 0);
    packet.queueKey = ManagementDatagram.QUEUE_KEY;
    packet.sourceNumber = 1;
    packet.length = ManagementDatagram.LENGTH;
    for (int i = 0; i < packet.length; i++) {
      Memory.putByte(packet.payload + i, (byte) random.nextInt());
    }
    if (random.nextInt(4) != 0) {
      Memory.putInt(packet.payload, Integer.reverseBytes(0x01070203));
      Memory.putShort(packet.payload + 16, Short.reverseBytes((short) random.nextInt(0x10, 0x1a)));
    }
    return RoceCodec.write(packet, address);
  }
}
