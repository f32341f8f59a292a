package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static dev.verbena.testing.DeviceKind.SOFT_ROCE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.attributes.AtomicScope;
import dev.verbena.attributes.DeviceAttributes;
import dev.verbena.attributes.DeviceCapability;
import dev.verbena.attributes.LinkLayer;
import dev.verbena.attributes.PortState;
import dev.verbena.attributes.TransportType;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** The application of the manuals, from the list of devices to the clean-up, and its rules. */
class WalkThroughTest {
  @DeviceTest
  void tenStepsConnectTwoQueuePairs() {
    Device device =
        Device.list().stream().filter(d -> d.guid() == Rig.a().guid()).findFirst().orElseThrow();
    Context context = device.open();
    assertTrue(context.deviceAttributes().portCount() >= 1);
    assertEquals(PortState.ACTIVE, context.port(1).attributes().state());
    try (Arena arena = Arena.ofShared()) {
      ProtectionDomain domain = context.allocateProtectionDomain();
      MemoryRegion region =
          domain.registerMemory(
              arena.allocate(64),
              AccessFlag.LOCAL_WRITE,
              AccessFlag.REMOTE_READ,
              AccessFlag.REMOTE_WRITE);
      CompletionQueue queue = context.createCompletionQueue(4);
      QueuePair pair = QueuePair.builder(domain, QueuePairType.RC).completions(queue).create();
      pair.connect(pair.localAddress());
      assertEquals(QueuePairState.RTS, pair.state());
      SendList write = new SendList(1, 1);
      write.write(0).local(region, 0, 8).remote(region.start() + 8, region.rkey()).signaled();
      region.memory().set(ValueLayout.JAVA_LONG, 0, 42);
      assertEquals(1, pair.post(write));
      Completions completions = new Completions(1);
      while (queue.poll(completions) == 0) {
        Thread.onSpinWait();
      }
      assertTrue(completions.isSuccess(0), () -> completions.describe(0));
      assertEquals(42, region.memory().get(ValueLayout.JAVA_LONG, 8));
      for (Resource resource : new Resource[] {pair, queue, region, domain, context}) {
        resource.close();
        assertFalse(resource.isOpen());
      }
    }
  }

  @DeviceTest
  void sendReadAndWriteUseOnePair() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      MemorySegment server = pair.a.memory.memory();
      MemorySegment client = pair.b.memory.memory();
      pair.b.receive(1);
      server.setString(0, "SEND operation");
      SendList send = new SendList(1, 1);
      send.send(0).local(pair.a.memory, 0, 32).signaled();
      pair.a.run(send);
      pair.b.completion(CompletionStatus.SUCCESS);
      assertEquals("SEND operation", client.getString(0));

      server.setString(0, "RDMA read operation");
      SendList access = new SendList(1, 1);
      access
          .read(0)
          .local(pair.b.memory, 0, 32)
          .remote(pair.a.memory.start(), pair.a.memory.rkey())
          .signaled();
      pair.b.run(access);
      assertEquals("RDMA read operation", client.getString(0));

      client.setString(0, "RDMA write operation");
      access
          .write(0)
          .local(pair.b.memory, 0, 32)
          .remote(pair.a.memory.start(), pair.a.memory.rkey())
          .signaled();
      pair.b.run(access);
      Await.until(
          "the data of the write", () -> server.getString(0).equals("RDMA write operation"));
      assertEquals(0, pair.a.completionQueue.poll(new Completions(1)), "the server never knew");
    }
  }

  @DeviceTest
  void deliversInOrder() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      SendList list = new SendList(1, 1);
      list.send(0).local(pair.a.memory, 0, 8).signaled();
      for (int i = 0; i < 40; i++) {
        pair.b.receive(i);
        pair.a.memory.memory().set(ValueLayout.JAVA_LONG, 0, i);
        pair.a.run(list);
        assertEquals(i, pair.b.completion(CompletionStatus.SUCCESS).id(0));
        assertEquals(i, pair.b.memory.memory().get(ValueLayout.JAVA_LONG, 0));
      }
    }
  }

  @DeviceTest
  void gathersAndScatters() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      MemorySegment from = pair.a.memory.memory();
      from.setString(0, "abcd");
      from.setString(100, "efgh");
      ReceiveList receive = new ReceiveList(1, 2);
      receive.local(0, 0, pair.b.memory, 10, 3);
      receive.local(0, 1, pair.b.memory, 200, 16);
      assertEquals(1, pair.b.queuePair.post(receive));
      SendList send = new SendList(1, 2);
      send.send(0).local(pair.a.memory, 0, 4).local(pair.a.memory, 100, 5).signaled();
      pair.a.run(send);
      assertEquals(9, pair.b.completion(CompletionStatus.SUCCESS).byteLength(0));
      assertEquals("abc", pair.b.memory.memory().getString(10));
      assertEquals("defgh", pair.b.memory.memory().getString(200));
    }
  }

  @DeviceTest
  void domainsDoNotMix() {
    try (Pair pair = Pair.connected(QueuePairType.RC);
        Arena arena = Arena.ofShared()) {
      ProtectionDomain other = pair.a.context.allocateProtectionDomain();
      MemoryRegion foreign = other.registerMemory(arena.allocate(64), AccessFlag.LOCAL_WRITE);
      SendList list = new SendList(1, 1);
      list.send(0).local(foreign, 0, 8).signaled();
      var thrown = assertThrows(IllegalArgumentException.class, () -> pair.a.queuePair.post(list));
      assertTrue(thrown.getMessage().contains("another protection domain"), thrown.getMessage());
      list.localUnchecked(0, 0, foreign.start(), 8, foreign.lkey());
      assertEquals(1, pair.a.queuePair.post(list));
      assertFalse(pair.a.completion().isSuccess(0), "the device refuses it too");
      foreign.close();
    }
  }

  @DeviceTest
  @On(
      value = {SOFTWARE, SOFT_ROCE},
      reason = "the values are those of these devices")
  void queriesTheDevice() {
    try (Pair pair = new Pair()) {
      DeviceAttributes device = pair.a.context.deviceAttributes();
      assertTrue(device.maxSharedReceiveQueues() > 0);
      assertTrue(device.maxReadsAsInitiator() > 0);
      assertEquals(Rig.isSoftware(), device.has(DeviceCapability.XRC));
      assertEquals(AtomicScope.HCA, device.atomicScope());
      assertEquals(TransportType.IB, pair.a.context.device().transportType());
      assertEquals(LinkLayer.ETHERNET, pair.a.context.port(1).attributes().linkLayer(), "RoCE");
    }
  }
}
