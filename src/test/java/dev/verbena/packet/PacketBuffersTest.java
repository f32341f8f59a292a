package dev.verbena.packet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.fake.FakeProvider;
import dev.verbena.flow.FlowRule;
import dev.verbena.flow.FlowType;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_device_attr;
import dev.verbena.raw.ibv_device_attr_ex;
import dev.verbena.raw.ibv_mr;
import dev.verbena.testing.Await;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.FakeDevices;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Packets in memory, in fragments, on the device in memory. */
class PacketBuffersTest {
  private static final Duration LONG = Await.LIMIT;

  private final Arena arena = Arena.ofShared();
  private final FakeProvider provider = new FakeProvider();
  private final PacketPort port =
      PacketPort.on(FakeDevices.of(provider), 1).sends(8).sendSges(3).receiveSges(3).open();
  private final PacketPort peer =
      PacketPort.on(FakeDevices.of(provider), 2).receives(8).sendSges(3).receiveSges(3).open();

  @AfterEach
  void close() {
    peer.close();
    port.close();
    provider.close();
    arena.close();
  }

  @Test
  void fragmentsHaveTheirOffsets() {
    PacketBuffers packets = port.packets(10).fragment(42, 22).fragment(100, 0).create();
    assertEquals(10, packets.count());
    assertEquals(2, packets.fragments());
    assertEquals(640, packets.region(0).length());
    assertEquals(1000, packets.region(1).length());
    assertEquals(9 * 64, packets.offset(9, 0));
    assertEquals(900, packets.offset(9, 1));
    assertEquals(42, packets.fragment(9, 0).byteSize());
    assertEquals(
        packets.region(0).start() + 9 * 64, packets.fragment(9, 0).address(), "its own memory");
    ReceiveList receives = packets.receives(3);
    assertEquals(3, receives.size());
    assertEquals(2, receives.maxSges());
    assertEquals(2, receives.sges(2));
    assertEquals(2, receives.id(2));
    packets.close();
    packets.close();
    assertFalse(packets.region(0).isOpen());
    assertThrows(IndexOutOfBoundsException.class, () -> packets.offset(10, 0));
    assertThrows(IndexOutOfBoundsException.class, () -> packets.offset(-1, 0));
    var noFragment = assertThrows(IndexOutOfBoundsException.class, () -> packets.region(2));
    assertEquals("Index 2 out of bounds for length 2", noFragment.getMessage());
    assertEquals(IndexOutOfBoundsException.class, noFragment.getClass());
    assertThrows(IllegalStateException.class, () -> packets.receives(1));
  }

  @Test
  void packetsAreGatheredAndScattered() throws InterruptedException {
    PacketBuffers out = port.packets(4).fragment(14, 2).fragment(50, 14).fragment(36, 0).create();
    PacketBuffers in = peer.packets(4).fragment(64, 0).fragment(100, 28).create();
    try (FlowRule rule = peer.flow().type(FlowType.ALL_DEFAULT).create()) {
      peer.startReceiving(in.receives(4));
      for (int packet = 0; packet < 4; packet++) {
        for (int fragment = 0; fragment < 3; fragment++) {
          out.fragment(packet, fragment).fill((byte) (packet * 16 + fragment));
        }
      }
      assertEquals(4, port.startSending(out.sends(4)));
      provider.internals().settle();
      assertEquals(4, peer.awaitReceived(LONG));
      for (int i = 0; i < 4; i++) {
        assertEquals(i, peer.received().id(i));
        assertEquals(100, peer.received().byteLength(i));
        byte[] whole = new byte[200];
        MemorySegment.copy(in.fragment(i, 0), ValueLayout.JAVA_BYTE, 0, whole, 0, 64);
        MemorySegment.copy(in.fragment(i, 1), ValueLayout.JAVA_BYTE, 0, whole, 64, 100);
        assertEquals(i * 16, whole[13]);
        assertEquals(i * 16 + 1, whole[14]);
        assertEquals(i * 16 + 1, whole[63]);
        assertEquals(i * 16 + 2, whole[64]);
        assertEquals(i * 16 + 2, whole[99]);
        assertEquals(0, whole[100]);
      }
      assertEquals(rule.queuePair(), peer.queuePair());
    }
  }

  @Test
  void memoryOfTheCallerIsUsed() {
    MemorySegment mine = arena.allocate(320);
    MemoryRegion registered =
        port.domain().registerMemory(arena.allocate(500), AccessFlag.LOCAL_WRITE);
    PacketBuffers packets =
        port.packets(5).fragment(mine, 60, 4).fragment(registered, 100, 0).create();
    assertEquals(mine.address() + 64, packets.fragment(1, 0).address());
    assertEquals(registered.start() + 100, packets.fragment(1, 1).address());
    SendList sends = packets.sends(5);
    assertEquals(2, sends.sges(4));
    packets.close();
    assertFalse(packets.region(0).isOpen());
    assertTrue(registered.isOpen());
  }

  @Test
  void invalidArgumentsThrow() {
    PacketBuffers.Builder builder = port.packets(5).fragment(64, 0);
    MemorySegment memory = arena.allocate(6 * 64);
    IllegalArgumentException e =
        assertThrows(IllegalArgumentException.class, () -> builder.fragment(memory, 60, 4));
    assertEquals(
        "fragment 1 has 384 bytes, not the 320 of 5 packets with 60 and 4 of padding",
        e.getMessage());
    MemoryRegion region = port.domain().registerMemory(memory, AccessFlag.LOCAL_WRITE);
    assertThrows(IllegalArgumentException.class, () -> builder.fragment(region, 64, 0));
    assertThrows(IllegalArgumentException.class, () -> builder.fragment(0, 64), "all padding");
    assertThrows(IllegalArgumentException.class, () -> builder.fragment(64, -1));
    assertThrows(IllegalArgumentException.class, () -> port.packets(0));
    assertThrows(IllegalStateException.class, () -> port.packets(1).create());
    ProtectionDomain other = port.context().allocateProtectionDomain();
    MemoryRegion foreign = other.registerMemory(arena.allocate(320), AccessFlag.LOCAL_WRITE);
    assertThrows(IllegalArgumentException.class, () -> builder.fragment(foreign, 64, 0));
    PacketBuffers packets = builder.create();
    e = assertThrows(IllegalArgumentException.class, () -> packets.receives(6));
    assertEquals("6 requests for 5 packets", e.getMessage());
    assertThrows(IllegalArgumentException.class, () -> packets.sends(6));
    assertThrows(IllegalArgumentException.class, () -> packets.receives(0));
    ReceiveList receives = packets.receives(1);
    assertThrows(IndexOutOfBoundsException.class, () -> packets.setPacket(receives, 0, 5));
  }

  @Test
  void failedRegistrationReleasesTheOthers() {
    NoMemory refusal = new NoMemory();
    provider.play(refusal);
    PacketBuffers.Builder builder = port.packets(1).fragment(64, 0).fragment(4096, 0);
    assertEquals(Errno.ENOMEM, assertThrows(VerbsException.class, builder::create).errno());
    assertEquals(0, refusal.live);
    assertEquals(1, refusal.made);
  }

  /** Registers no more than a page, and not all of that. */
  @SuppressWarnings({"unused", "EffectivelyPrivate"}) // Found by name.
  private final class NoMemory {
    private int live;
    private int made;

    public long ibv_reg_mr_iova2(long pd, long address, long length, long iova, int access) {
      return ibv_reg_mr(pd, address, length, access);
    }

    public long ibv_reg_mr(long pd, long address, long length, int access) {
      if (length >= 4096) {
        throw new VerbsException("ibv_reg_mr", Errno.ENOMEM);
      }
      live++;
      made++;
      MemorySegment mr = ibv_mr.allocate(arena);
      ibv_mr.pd(mr, MemorySegment.ofAddress(pd));
      return mr.address();
    }

    public void ibv_dereg_mr(long mr) {
      live--;
    }
  }

  @Test
  void checksumsNeedACapability() {
    assertEquals(1, port.packets(1).fragment(64, 0).create().sendsWithChecksum(1).size());
    provider.play(new Plain());
    try (PacketPort plain = PacketPort.on(FakeDevices.of(provider), 1).sends(1).open();
        PacketBuffers packets = plain.packets(1).fragment(64, 0).create()) {
      UnsupportedOperationException e =
          assertThrows(UnsupportedOperationException.class, () -> packets.sendsWithChecksum(1));
      assertEquals(
          "memory0 does not support checksum offload: write the checksums into the packets",
          e.getMessage());
    }
  }

  /** A device without capabilities. */
  @SuppressWarnings({"unused", "EffectivelyPrivate"}) // Found by name.
  private static final class Plain {
    public int query_device_ex(long context, long input, long attr, long size) {
      MemorySegment attributes = Memory.at(attr, size).fill((byte) 0);
      MemorySegment plain = ibv_device_attr_ex.orig_attr(attributes);
      ibv_device_attr.max_qp_wr(plain, 1);
      ibv_device_attr.max_sge(plain, 1);
      ibv_device_attr.phys_port_cnt(plain, (byte) 1);
      return 0;
    }
  }

  @Test
  void requestsOfAPartOfAListPointAtPackets() throws InterruptedException {
    PacketBuffers packets = port.packets(4).fragment(64, 0).create();
    SendList sends = packets.sends(4);
    assertEquals(4, port.startSending(sends));
    provider.internals().settle();
    assertEquals(4, port.awaitSent(LONG));
    assertEquals(2, port.queuePair().post(sends, 1, 2));
    provider.internals().settle();
    assertEquals(2, port.awaitSent(LONG));
    assertEquals(1, port.sent().id(0));
    assertEquals(2, port.sent().id(1));
    assertEquals(4, port.queuePair().post(sends));
  }

  @Test
  void pointingAllocatesNothing() {
    PacketBuffers packets = port.packets(8).fragment(42, 22).fragment(100, 0).create();
    ReceiveList receives = packets.receives(4);
    var threads =
        (com.sun.management.ThreadMXBean) java.lang.management.ManagementFactory.getThreadMXBean();
    long allocated = -1;
    for (int round = 0; round < 5 && allocated != 0; round++) {
      long before = threads.getCurrentThreadAllocatedBytes();
      for (int i = 0; i < 20_000; i++) {
        packets.setPacket(receives, i & 3, i & 7);
      }
      allocated = threads.getCurrentThreadAllocatedBytes() - before;
    }
    assertEquals(0, allocated);
  }
}
