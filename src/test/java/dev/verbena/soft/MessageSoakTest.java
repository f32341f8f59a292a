package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.Await;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.AckTimeout;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.RnrTimer;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Many messages over RC through a network that loses, duplicates and reorders packets: each arrives
 * once, in order, with every byte. {@code -Dverbena.soak.messages=10000000} sends more, {@code
 * -Dverbena.soak.seed} repeats a run.
 */
class MessageSoakTest {
  private static final int BATCH = 32;
  private static final int SENDS = 8 * BATCH;
  private static final int RECEIVES = 16 * BATCH;
  private static final int SLOT = 128;
  private static final long PATIENCE = Await.LIMIT.toNanos();
  private static final long HEAP_GROWTH = 16L << 20;
  private static final long NATIVE_GROWTH_KIB = 128L << 10;

  private final long count = Long.getLong("verbena.soak.messages", 100_000L);
  private final long seed =
      Long.getLong("verbena.soak.seed", RandomGenerator.getDefault().nextLong());
  private final Arena arena = Arena.ofShared();
  private final SoftNetwork network = SoftNetwork.create();
  private final Side sender = new Side(network.addDevice("soft0"), SENDS, 1);
  private final Side receiver = new Side(network.addDevice("soft1"), 1, RECEIVES);
  private final SendList sends = new SendList(BATCH, 1);
  private final ReceiveList[] receives = new ReceiveList[RECEIVES / BATCH];
  private final Completions completions = new Completions(BATCH);
  private long sent;
  private long acknowledged;
  private long received;

  /** A device with a queue pair. */
  private final class Side {
    final MemorySegment memory;
    final Context context;
    final CompletionQueue completions;
    final QueuePair queuePair;
    final MemoryRegion region;

    Side(Device device, int sends, int receives) {
      memory = arena.allocate((long) Math.max(sends, receives) * SLOT, 4096);
      context = device.open();
      ProtectionDomain domain = context.allocateProtectionDomain();
      completions = context.createCompletionQueue(sends + receives);
      queuePair =
          QueuePair.builder(domain, QueuePairType.RC)
              .completions(completions)
              .capacity(
                  QueuePairCapacity.of(1).withSendRequests(sends).withReceiveRequests(receives))
              .create();
      region = domain.registerMemory(memory, AccessFlag.LOCAL_WRITE);
      queuePair
          .setup()
          .ackTimeout(AckTimeout.atLeast(Duration.ofMillis(60)))
          .minRnrTimer(RnrTimer.atLeast(Duration.ofNanos(10_000)));
    }
  }

  /** Heap and native memory in use. */
  private record Memory(long heap, long residentKib) {
    static Memory now() throws IOException {
      System.gc();
      long resident =
          Files.readAllLines(Path.of("/proc/self/status")).stream()
              .filter(line -> line.startsWith("VmRSS:"))
              .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
              .findFirst()
              .orElseThrow();
      return new Memory(
          ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed(), resident);
    }

    @Override
    public String toString() {
      return "%.1f MiB heap, %.1f MiB resident".formatted(heap / 1048576.0, residentKib / 1024.0);
    }
  }

  @Test
  @Timeout(Integer.MAX_VALUE)
  void eachMessageArrivesOnceAndWhole() throws IOException {
    System.out.printf("soak: %,d messages, seed %d%n", count, seed);
    connect();
    network.faults().seed(seed).loss(0.01).duplicate(0.01).reorder(0.01);
    for (int i = 0; i < receives.length; i++) {
      receives[i] = receiveList(i);
      assertEquals(BATCH, receiver.queuePair.post(receives[i]));
    }
    long start = System.nanoTime();
    runUntil(count / 4);
    Memory before = Memory.now();
    runUntil(count);
    Memory after = Memory.now();
    double seconds = (System.nanoTime() - start) / 1e9;
    System.out.printf(
        "soak: %,d messages in %.1f s, %,.0f/s, %,d packets sent again; after a quarter %s; at the"
            + " end %s; seed %d%n",
        received, seconds, received / seconds, retransmissions(), before, after, seed);
    assertEquals(0, receiver.completions.poll(completions), "no message is repeated");
    assertTrue(retransmissions() > 0);
    assertTrue(after.heap - before.heap < HEAP_GROWTH, before + " then " + after);
    assertTrue(
        after.residentKib - before.residentKib < NATIVE_GROWTH_KIB, before + " then " + after);
    sender.context.close();
    receiver.context.close();
    network.close();
    arena.close();
  }

  private void connect() {
    var address = receiver.queuePair.localAddress();
    receiver.queuePair.connect(sender.queuePair.localAddress());
    sender.queuePair.connect(address);
  }

  private ReceiveList receiveList(int batch) {
    ReceiveList list = new ReceiveList(BATCH, 1);
    for (int i = 0; i < BATCH; i++) {
      list.id(i, batch * BATCH + i);
      list.local(i, receiver.region, (long) (batch * BATCH + i) * SLOT, SLOT);
    }
    return list;
  }

  private long retransmissions() {
    return network.engine.locked(
        () -> network.fabric.devices().stream().mapToLong(d -> d.counters.retransmissions).sum());
  }

  /** Goes on until so many messages arrived and were acknowledged. */
  private void runUntil(long target) {
    long end = System.nanoTime() + PATIENCE;
    while (received < target || acknowledged < sent) {
      long before = received + acknowledged;
      while (sent < target && sent - acknowledged < SENDS) {
        send((int) Math.min(BATCH, target - sent));
      }
      receive();
      acknowledge();
      if (received + acknowledged > before) {
        end = System.nanoTime() + PATIENCE;
      } else {
        assertTrue(System.nanoTime() < end, "after " + received + ", seed " + seed);
        Thread.onSpinWait();
      }
    }
  }

  private void send(int batch) {
    for (int i = 0; i < batch; i++) {
      long message = sent + i;
      long slot = message % SENDS * SLOT;
      int length = length(message);
      for (int at = 0; at < length; at += Long.BYTES) {
        sender.memory.set(ValueLayout.JAVA_LONG, slot + at, content(message, at));
      }
      sends.send(i).local(sender.region, slot, length);
      sends.id(i, message + 1 - sent);
      if (i == batch - 1) {
        sends.signaled(i);
      }
    }
    assertEquals(batch, sender.queuePair.post(sends, 0, batch));
    sent += batch;
  }

  private void acknowledge() {
    int polled = sender.completions.poll(completions);
    for (int i = 0; i < polled; i++) {
      String failure = completions.isSuccess(i) ? "" : completions.describe(i) + ", seed " + seed;
      assertEquals("", failure);
      acknowledged += completions.id(i); // The completion of the last message of a batch.
    }
  }

  private void receive() {
    int polled = receiver.completions.poll(completions);
    for (int i = 0; i < polled; i++) {
      if (!completions.isSuccess(i) || completions.id(i) != received % RECEIVES) {
        throw new AssertionError(completions.describe(i) + " instead of message " + received);
      }
      check(received, received % RECEIVES * SLOT, completions.byteLength(i));
      received++;
      if (received % BATCH == 0) {
        int done = (int) ((received / BATCH - 1) % receives.length);
        assertEquals(BATCH, receiver.queuePair.post(receives[done]));
      }
    }
  }

  private void check(long message, long slot, long length) {
    boolean same = length == length(message);
    int at = 0;
    for (; at + Long.BYTES <= length; at += Long.BYTES) {
      same &= receiver.memory.get(ValueLayout.JAVA_LONG, slot + at) == content(message, at);
    }
    for (; at < length; at++) {
      byte expected = (byte) (content(message, at & -Long.BYTES) >>> (at % Long.BYTES * Byte.SIZE));
      same &= receiver.memory.get(ValueLayout.JAVA_BYTE, slot + at) == expected;
    }
    if (!same) {
      throw new AssertionError("message " + message + " differs, seed " + seed);
    }
  }

  private static int length(long message) {
    return 1 + (int) Long.remainderUnsigned(mix(~message), SLOT);
  }

  /** The bytes of a message at a multiple of 8. */
  private static long content(long message, int at) {
    return mix(message * SLOT + at);
  }

  private static long mix(long value) {
    long mixed = (value ^ (value >>> 30)) * 0xbf58476d1ce4e5b9L;
    mixed = (mixed ^ (mixed >>> 27)) * 0x94d049bb133111ebL;
    return mixed ^ (mixed >>> 31);
  }
}
