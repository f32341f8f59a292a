package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.SendOperation;
import java.lang.foreign.Arena;
import java.util.function.UnaryOperator;

/**
 * Memory is freed, or cannot be written to at the address that requests have, when the completion
 * of a short message is polled. The device has written the message before: polling must not.
 */
class FreedBeforePollTest {
  private static final int LENGTH = 8;

  @DeviceTest
  void memoryOfAReceiveIsFreedBeforeItsCompletionIsPolled() {
    received(builder -> builder);
  }

  @DeviceTest
  void memoryOfAReceiveOfAnExtendedQueuePairIsFreedBeforeItsCompletionIsPolled() {
    received(builder -> builder.sendOperations(SendOperation.SEND));
  }

  private static void received(UnaryOperator<QueuePairBuilder> choices) {
    try (Pair pair = Rig.orSkip(() -> Pair.inUse(QueuePairType.RC, choices))) {
      try (Arena arena = Arena.ofShared()) {
        pair.b.receive(1, target(pair.b, arena));
        send(pair);
      }
      assertEquals(LENGTH, pair.b.completion(CompletionStatus.SUCCESS).byteLength(0));
    }
  }

  @DeviceTest
  void memoryOfASharedReceiveIsFreedBeforeItsCompletionIsPolled() {
    try (Pair pair = new Pair()) {
      SharedReceiveQueue shared = SharedReceiveQueue.create(pair.b.domain, 8);
      pair.a.queuePair = pair.a.builder(QueuePairType.RC).create();
      pair.b.queuePair = pair.b.builder(QueuePairType.RC).sharedReceiveQueue(shared).create();
      pair.connect();
      try (Arena arena = Arena.ofShared()) {
        ReceiveList list = new ReceiveList(1, 1);
        list.local(0, target(pair.b, arena), 0, LENGTH);
        assertEquals(1, shared.post(list));
        send(pair);
      }
      assertEquals(LENGTH, pair.b.completion(CompletionStatus.SUCCESS).byteLength(0));
    }
  }

  @DeviceTest
  void memoryOfAReadIsFreedBeforeItsCompletionIsPolled() {
    try (Pair pair = Pair.inUse(QueuePairType.RC, QueuePairBuilder::signalAll)) {
      pair.b.receive(1);
      try (Arena arena = Arena.ofShared()) {
        SendList list = new SendList(2, 1);
        MemoryRegion from = pair.b.memory;
        list.read(0).local(target(pair.a, arena), 0, LENGTH).remote(from.start(), from.rkey());
        list.send(1).local(pair.a.memory, 0, LENGTH).fenced();
        assertEquals(2, pair.a.queuePair.post(list));
        pair.b.completion(CompletionStatus.SUCCESS); // The read is done: the message waited for it.
      }
      pair.a.completion(CompletionStatus.SUCCESS);
    }
  }

  @DeviceTest
  @On(
      value = {SOFTWARE, MLX5},
      reason = "Soft-RoCE has no null regions")
  void receiveIntoANullRegionIsPolled() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      MemoryRegion none = Rig.orSkip(pair.b.domain::allocateNullRegion);
      ReceiveList receive = new ReceiveList(1, 1);
      receive.local(0, 0, none, 0, LENGTH);
      assertEquals(1, pair.b.queuePair.post(receive));
      send(pair);
      assertEquals(LENGTH, pair.b.completion(CompletionStatus.SUCCESS).byteLength(0));
    }
  }

  /** Memory that the operating system takes back when the arena is closed. */
  private static MemoryRegion target(Pair.Side side, Arena arena) {
    return side.domain.registerMemory(arena.allocate(64 << 20, 4096), AccessFlag.LOCAL_WRITE);
  }

  /** Sends a message; when it is acknowledged, its completion at the other end can be polled. */
  private static void send(Pair pair) {
    SendList list = new SendList(1, 1);
    list.send(0).local(pair.a.memory, 0, LENGTH).signaled();
    pair.a.run(list);
  }
}
