package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.testing.Await;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.util.List;

/** Two connected RC queue pairs on two devices of a network of their own. */
final class SoftPair implements AutoCloseable {
  private static final int SIZE = 1 << 16;

  final SoftNetwork network = SoftNetwork.create();
  final End a;
  final End b;

  private SoftPair(List<List<InetAddress>> portsOfA, List<List<InetAddress>> portsOfB) {
    a = new End(network.addDevice("soft0", portsOfA));
    b = new End(network.addDevice("soft1", portsOfB));
  }

  /** One of the two. */
  static final class End {
    final Arena arena = Arena.ofShared();
    final MemorySegment memory = arena.allocate(SIZE, 4096);
    final Context context;
    final ProtectionDomain domain;
    final CompletionQueue completions;
    final QueuePair queuePair;
    final MemoryRegion region;

    End(Device device) {
      context = device.open();
      domain = context.allocateProtectionDomain();
      completions = context.createCompletionQueue(64);
      queuePair =
          QueuePair.builder(domain, QueuePairType.RC)
              .completions(completions)
              .capacity(QueuePairCapacity.of(16))
              .create();
      region =
          domain.registerMemory(
              memory,
              AccessFlag.LOCAL_WRITE,
              AccessFlag.REMOTE_WRITE,
              AccessFlag.REMOTE_READ,
              AccessFlag.REMOTE_ATOMIC);
    }
  }

  static SoftPair connected() {
    return connected(List.of(List.of()), List.of(List.of()));
  }

  static SoftPair connected(List<List<InetAddress>> portsOfA, List<List<InetAddress>> portsOfB) {
    SoftPair pair = new SoftPair(portsOfA, portsOfB);
    pair.connect();
    return pair;
  }

  /** Two queue pairs in state RESET. */
  static SoftPair unconnected() {
    return new SoftPair(List.of(List.of()), List.of(List.of()));
  }

  void connect() {
    var addressOfB = b.queuePair.localAddress();
    b.queuePair.connect(a.queuePair.localAddress());
    a.queuePair.connect(addressOfB);
  }

  /** Connects the queue pairs anew, from state ERR. */
  void reconnect() {
    a.queuePair.reset();
    b.queuePair.reset();
    connect();
  }

  long retransmissions() {
    return network.engine.locked(
        () -> network.fabric.devices().stream().mapToLong(d -> d.counters.retransmissions).sum());
  }

  /** Posts a receive of b and a send of a. */
  void post(int length) {
    post(a, b, length);
  }

  private static void post(End a, End b, int length) {
    ReceiveList receives = new ReceiveList(1, 1);
    receives.local(0, b.region, 0, length);
    assertEquals(1, b.queuePair.post(receives));
    SendList sends = new SendList(1, 1);
    sends.send(0).local(a.region, 0, length).signaled();
    assertEquals(1, a.queuePair.post(sends));
  }

  /** Waits for a completion of a. */
  CompletionStatus completion() {
    return await(a.completions);
  }

  static CompletionStatus await(CompletionQueue queue) {
    Completions completions = new Completions(1);
    Await.until("a completion", () -> queue.poll(completions) == 1);
    return completions.status(0);
  }

  /** Sends messages one after the other and compares every byte. */
  void transfer(int count, int length) {
    transfer(a, b, count, length);
  }

  static void transfer(End a, End b, int count, int length) {
    for (int i = 0; i < count; i++) {
      for (int at = 0; at < length; at++) {
        a.memory.set(ValueLayout.JAVA_BYTE, at, (byte) (at * 31 + i));
      }
      b.memory.fill((byte) 0);
      post(a, b, length);
      assertEquals(CompletionStatus.SUCCESS, await(b.completions));
      assertEquals(CompletionStatus.SUCCESS, await(a.completions));
      assertEquals(
          -1, a.memory.asSlice(0, length).mismatch(b.memory.asSlice(0, length)), "message " + i);
    }
  }

  @Override
  public void close() {
    a.context.close();
    b.context.close();
    network.close();
    a.arena.close();
    b.arena.close();
  }
}
