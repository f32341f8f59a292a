package dev.verbena.verbs;

import static dev.verbena.testing.Need.WIRE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.values.CompletionOpcode;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** Unreliable connections: sends and writes, nothing that needs an answer. */
class UcTest {
  private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();

  @DeviceTest
  void sendsAndWrites() {
    try (Pair pair = Pair.connected(QueuePairType.UC)) {
      MemoryRegion target = pair.b.memory;
      pair.a.memory.memory().setString(0, "unreliable");
      SendList list = new SendList(1, 1);
      pair.b.receive(1);
      list.send(0).local(pair.a.memory, 0, 16).signaled();
      pair.a.run(list);
      assertEquals(16, pair.b.completion(CompletionStatus.SUCCESS).byteLength(0));
      assertEquals("unreliable", target.memory().getString(0));

      pair.b.receive(2);
      list.writeWithImmediate(0, 0xbeef)
          .local(pair.a.memory, 0, 16)
          .remote(target.start() + 1024, target.rkey())
          .signaled();
      pair.a.run(list);
      Completions received = pair.b.completion(CompletionStatus.SUCCESS);
      assertEquals(CompletionOpcode.RECV_RDMA_WITH_IMM, received.opcode(0));
      assertEquals(0xbeef, received.immediate(0));
      assertEquals("unreliable", target.memory().getString(1024));

      SendList write = new SendList(2, 1);
      write.write(0).local(pair.a.memory, 0, 16).remote(target.start() + 2048, target.rkey());
      write.sendWithImmediate(1, 5).local(pair.a.memory, 0, 4).signaled();
      pair.b.receive(3);
      pair.a.run(write);
      assertEquals(5, pair.b.completion(CompletionStatus.SUCCESS).immediate(0));
      assertEquals("unreliable", target.memory().getString(2048));
    }
  }

  @DeviceTest
  @Needs(WIRE)
  void lostMessageHasNoCompletion() {
    try (Pair pair = Pair.connected(QueuePairType.UC)) {
      SendList list = new SendList(1, 1);
      MemoryRegion target = pair.b.memory;
      list.send(0).local(pair.a.memory, 0, 8).signaled();
      pair.a.run(list);
      pair.a.memory.memory().set(ValueLayout.JAVA_LONG, 0, 7);
      list.write(0)
          .local(pair.a.memory, 0, 8)
          .remote(target.start() + 1024, target.rkey())
          .signaled();
      pair.a.run(list);
      // The completion of a send says nothing of its arrival; the write is executed after it.
      Await.until("the write", () -> (long) LONG.getVolatile(target.memory(), 1024L) == 7);
      pair.b.receive(2);
      list.send(0).local(pair.a.memory, 0, 8).signaled();
      pair.a.run(list);
      assertEquals(2, pair.b.completion(CompletionStatus.SUCCESS).id(0));
      assertEquals(7, pair.b.memory.memory().get(ValueLayout.JAVA_LONG, 0), "the second one");
    }
  }

  @DeviceTest
  void readsAndAtomicsThrow() {
    try (Pair pair = Pair.connected(QueuePairType.UC)) {
      SendList list = new SendList(1, 1);
      list.read(0).local(pair.a.memory, 0, 8).remote(pair.b.memory.start(), 0);
      assertThrows(IllegalArgumentException.class, () -> pair.a.queuePair.post(list));
      list.fetchAndAdd(0, 1).local(pair.a.memory, 0, 8).remote(pair.b.memory.start(), 0);
      assertThrows(IllegalArgumentException.class, () -> pair.a.queuePair.post(list));
      try (Pair datagrams = Pair.inUse(QueuePairType.UD, builder -> builder)) {
        list.write(0).local(pair.a.memory, 0, 8).remote(pair.b.memory.start(), 0);
        assertThrows(IllegalArgumentException.class, () -> datagrams.a.queuePair.post(list));
      }
    }
  }
}
