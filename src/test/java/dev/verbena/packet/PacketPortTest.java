package dev.verbena.packet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.attributes.DeviceAttributes;
import dev.verbena.attributes.DeviceCapability;
import dev.verbena.attributes.RawPacketCapability;
import dev.verbena.fake.FakeProvider;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_port_attr;
import dev.verbena.raw.ibv_qp;
import dev.verbena.raw.ibv_qp_attr;
import dev.verbena.raw.rdma_h;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.FakeDevices;
import dev.verbena.verbs.SendList;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Ports that are opened for packets, on the device in memory. */
class PacketPortTest {
  private static final Duration SOON = Duration.ofMillis(20);

  private final FakeProvider provider = new FakeProvider();
  private final Device device = FakeDevices.of(provider);

  @AfterEach
  void nothingIsLeftOpen() {
    provider.close();
  }

  @Test
  void defaultSizesAreMinimal() {
    try (PacketPort port = PacketPort.on(device, 1).open()) {
      assertEquals(QueuePairState.INIT, port.queuePair().state());
      assertEquals(QueuePairType.RAW_PACKET, port.queuePair().type());
      assertEquals(QueuePairCapacity.of(1), port.queuePair().capacity());
      assertEquals(1, port.sendCompletionQueue().capacity());
      assertEquals(1, port.receiveCompletionQueue().capacity());
    }
  }

  @Test
  void sizesAreSetAndReadBack() {
    try (PacketPort port =
        PacketPort.on(device, 1)
            .sends(8)
            .receives(16)
            .sendSges(2)
            .receiveSges(3)
            .sendCompletions(32)
            .receiveCompletions(64)
            .inlineData(18)
            .open()) {
      assertEquals(
          QueuePairCapacity.of(8)
              .withReceiveRequests(16)
              .withSendSges(2)
              .withReceiveSges(3)
              .withMaxInlineData(18),
          port.queuePair().capacity());
      assertEquals(32, port.sendCompletionQueue().capacity());
      assertEquals(64, port.receiveCompletionQueue().capacity());
      assertEquals(32, port.sent().capacity());
      assertEquals(64, port.received().capacity());
    }
    try (PacketPort port = PacketPort.on(device, 1).sends(8).receives(16).open()) {
      assertEquals(8, port.sendCompletionQueue().capacity(), "as many as requests");
      assertEquals(16, port.receiveCompletionQueue().capacity());
    }
  }

  @Test
  void maximumOfTheDeviceIsASize() {
    int maximum = PacketPort.DEVICE_MAXIMUM;
    provider.network().faults().fail("ibv_create_cq", 1, Errno.ENOMEM);
    try (PacketPort port =
        PacketPort.on(device, 1)
            .sends(maximum)
            .receives(maximum)
            .sendSges(maximum)
            .receiveSges(maximum)
            .sendCompletions(maximum)
            .receiveCompletions(maximum)
            .open()) {
      DeviceAttributes limits = port.context().deviceAttributes();
      QueuePairCapacity capacity = port.queuePair().capacity();
      assertEquals(limits.maxQueuePairRequests(), capacity.sendRequests());
      assertEquals(limits.maxQueuePairRequests(), capacity.receiveRequests());
      assertEquals(limits.maxSges(), capacity.sendSges());
      assertEquals(limits.maxSges(), capacity.receiveSges());
      int promised = limits.maxCompletionQueueEntries();
      assertEquals(promised / 2, port.sendCompletionQueue().capacity(), "what there is memory for");
      assertEquals(promised, port.receiveCompletionQueue().capacity());
    }
  }

  @Test
  void accessorsReturnTheObjects() {
    PacketPort port = PacketPort.on(device, 2).open();
    assertEquals(2, port.port().number());
    assertEquals("memory0", port.context().device().name());
    assertSame(port.context(), port.domain().context());
    assertSame(port.domain(), port.queuePair().domain());
    assertNotSame(port.sendCompletionQueue(), port.receiveCompletionQueue());
    assertNotSame(
        port.sendCompletionQueue().channel().orElseThrow(),
        port.receiveCompletionQueue().channel().orElseThrow());
    assertSame(port.received(), port.received());
    MemorySegment qp = Memory.at(port.queuePair().segment().address(), ibv_qp.layout().byteSize());
    assertEquals(port.context().segment(), ibv_qp.context(qp));
    assertEquals(port.domain().segment(), ibv_qp.pd(qp));
    assertEquals(port.sendCompletionQueue().segment(), ibv_qp.send_cq(qp));
    assertEquals(port.receiveCompletionQueue().segment(), ibv_qp.recv_cq(qp));
    assertEquals("port 2 of memory0", port.toString());
    port.close();
    port.close();
    assertFalse(port.queuePair().isOpen());
    assertThrows(IllegalStateException.class, () -> port.awaitReceived(SOON));
  }

  @Test
  void inactivePortIsRejectedUnlessPermitted() {
    provider.play(new DownPort());
    Device down = FakeDevices.of(provider);
    IllegalStateException e =
        assertThrows(IllegalStateException.class, () -> PacketPort.on(down, 1).open());
    assertTrue(e.getMessage().startsWith("port 1 of memory0 is not active but down:"));
    try (PacketPort port = PacketPort.on(down, 1).allowInactive().open()) {
      assertEquals(QueuePairState.INIT, port.queuePair().state());
    }
  }

  /** A device whose ports have no link. */
  @SuppressWarnings({"unused", "EffectivelyPrivate"}) // Found by name.
  private static final class DownPort {
    public int query_port(long context, byte port, long attr, long size) {
      Memory.at(attr, size).fill((byte) 0);
      ibv_port_attr.state(Memory.at(attr, size), rdma_h.IBV_PORT_DOWN());
      return 0;
    }
  }

  @Test
  void completionEventsAreRequested() throws InterruptedException {
    assertTrue(raisesEvent(PacketPort.on(device, 1)));
    assertTrue(
        raisesEvent(
            PacketPort.on(device, 1)
                .sendNotification(CompletionNotification.ANY)
                .receiveNotification(CompletionNotification.NONE)));
    assertFalse(
        raisesEvent(
            PacketPort.on(device, 1)
                .sendNotification(CompletionNotification.SOLICITED)
                .receiveNotification(CompletionNotification.ANY)));
    assertFalse(
        raisesEvent(
            PacketPort.on(device, 1)
                .sendNotification(CompletionNotification.NONE)
                .receiveNotification(CompletionNotification.ANY)));
  }

  private static boolean raisesEvent(PacketPortBuilder builder) throws InterruptedException {
    try (PacketPort port = builder.open();
        PacketBuffers packets = port.packets(1).fragment(64, 0).create()) {
      assertEquals(1, port.startSending(packets.sends(1)));
      CompletionQueue queue = port.sendCompletionQueue();
      CompletionQueue announced = queue.channel().orElseThrow().poll(SOON);
      if (announced != null) {
        assertSame(queue, announced);
      }
      assertEquals(1, port.awaitSent(SOON));
      return announced != null;
    }
  }

  @Test
  void completionVectorIsSetAndChecked() {
    try (PacketPort port = PacketPort.on(device, 1).vector(1).open()) {
      assertEquals(4, port.context().completionVectors());
    }
    PacketPortBuilder wrong = PacketPort.on(device, 1).vector(4);
    assertThrows(IndexOutOfBoundsException.class, wrong::open);
  }

  @Test
  void failureHasTheErrnoAndLeavesNothingOpen() {
    PacketPortBuilder tooMuch = PacketPort.on(device, 1).sendSges(33).receiveSges(1);
    VerbsException e = assertThrows(VerbsException.class, tooMuch::open);
    assertEquals(Errno.EINVAL, e.errno());
    assertTrue(e.getMessage().contains("33 send SGEs of 32"), e.getMessage());
    assertThrows(IllegalArgumentException.class, () -> PacketPort.on(device, 3).open());
    assertThrows(IllegalArgumentException.class, () -> PacketPort.on(device, 1).sends(-2));
    assertThrows(
        IllegalArgumentException.class, () -> PacketPort.on(device, 1).sendSges(1).receiveSges(-2));
    assertThrows(
        IllegalArgumentException.class,
        () -> PacketPort.on(device, 1).sendCompletions(0).receiveCompletions(1));
    assertThrows(
        IllegalArgumentException.class, () -> PacketPort.on(device, 1).type(QueuePairType.RC));
  }

  @Test
  void invalidArgumentsThrow() {
    provider.play(new Refusal(Errno.EOPNOTSUPP));
    VerbsException none = assertThrows(VerbsException.class, () -> PacketPort.on(device, 1).open());
    assertTrue(none.isUnsupported());
    assertTrue(
        none.getMessage().contains("memory0 does not support raw packets"), none.getMessage());
    provider.play(new Refusal(Errno.EPERM));
    VerbsException denied =
        assertThrows(VerbsException.class, () -> PacketPort.on(device, 1).open());
    assertEquals(Errno.EPERM, denied.errno());
    assertTrue(
        denied.getMessage().contains("run as root, or with CAP_NET_RAW"), denied.getMessage());
  }

  /** Refuses to make queue pairs. */
  @SuppressWarnings({"unused", "EffectivelyPrivate", "DoNotCallSuggester"}) // Found by name.
  private record Refusal(int errno) {
    public long ibv_create_qp(long pd, long attr) {
      throw new VerbsException("ibv_create_qp", errno);
    }
  }

  @Test
  void capabilitiesOfBothKindsAreRead() {
    try (PacketPort port = PacketPort.on(device, 1).open()) {
      DeviceAttributes can = port.context().deviceAttributes();
      assertTrue(can.has(DeviceCapability.RAW_IP_CSUM));
      assertTrue(can.has(DeviceCapability.MANAGED_FLOW_STEERING));
      assertFalse(can.has(DeviceCapability.UD_IP_CSUM));
      for (RawPacketCapability capability : RawPacketCapability.values()) {
        assertEquals(
            capability != RawPacketCapability.DELAY_DROP, can.has(capability), capability.name());
      }
    }
  }

  @Test
  void receivesArePostedBeforeReadyToReceive() {
    try (PacketPort port = PacketPort.on(device, 1).receives(4).open();
        PacketBuffers packets = port.packets(4).fragment(64, 0).create()) {
      NotReady refusal = new NotReady();
      provider.play(refusal);
      assertThrows(VerbsException.class, () -> port.startReceiving(packets.receives(4)));
      assertEquals(rdma_h.IBV_QPS_RTR(), refusal.wanted);
      assertEquals(4, provider.internals().waitingReceives());
    }
  }

  /** Refuses every change of state. */
  @SuppressWarnings({"unused", "EffectivelyPrivate"}) // Found by name.
  private static final class NotReady {
    private int wanted;

    public void ibv_modify_qp(long qp, long attr, int mask) {
      wanted = ibv_qp_attr.qp_state(Memory.at(attr, ibv_qp_attr.sizeof()));
      throw new VerbsException("ibv_modify_qp", Errno.EINVAL);
    }
  }

  @Test
  void portIsReadyBeforeSendsArePosted() {
    try (PacketPort port = PacketPort.on(device, 1).sends(4).receives(4).open();
        PacketBuffers packets = port.packets(4).fragment(64, 0).create()) {
      port.startReceiving(packets.receives(2));
      assertEquals(QueuePairState.RTR, port.queuePair().state());
      SendList sends = packets.sends(1);
      assertEquals(1, port.startSending(sends));
      assertEquals(QueuePairState.RTS, port.queuePair().state());
      assertEquals(1, port.startSending(sends));
      port.startReceiving(packets.receives(2));
      assertEquals(QueuePairState.RTS, port.queuePair().state());
    }
  }

  @Test
  void portRecoversFromResetAndErr() throws InterruptedException {
    try (PacketPort port = PacketPort.on(device, 1).sends(4).open();
        PacketBuffers packets = port.packets(4).fragment(64, 0).create()) {
      port.queuePair().fail();
      SendList sends = packets.sends(4);
      IllegalStateException e =
          assertThrows(IllegalStateException.class, () -> port.startSending(sends));
      assertTrue(e.getMessage().contains("reset it and start again"), e.getMessage());
      port.queuePair().reset();
      assertEquals(4, port.startSending(sends));
      provider.internals().settle();
      assertEquals(4, port.awaitSent(SOON));
      assertTrue(port.sent().isSuccess(3));
      assertEquals(0, port.awaitSent(SOON));
    }
  }
}
