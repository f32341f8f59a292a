package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static dev.verbena.testing.DeviceKind.SOFT_ROCE;
import static dev.verbena.testing.Need.ONE_KIND;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.address.AddressVector;
import dev.verbena.address.EthernetAddress;
import dev.verbena.address.EthernetDestination;
import dev.verbena.address.Gid;
import dev.verbena.address.GlobalRoute;
import dev.verbena.address.GlobalRoutingHeader;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.CompletionFlag;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.OptionalInt;

/** Address handles, datagrams and multicast, as rdma-core's test_addr.py tests them. */
class AddrTest {
  private static final int GRH = 40;

  private static AddressVector pathToB(Pair pair) {
    int index = pair.a.context.port(1).chooseGid().index();
    return AddressVector.global(1, new GlobalRoute(Gid.of(Rig.addressB()), index));
  }

  @DeviceTest
  void createsAnAddressHandle() {
    try (Pair pair = new Pair()) {
      AddressHandle handle = pair.a.domain.createAddressHandle(pathToB(pair));
      assertTrue(handle.isOpen());
      handle.close();
      handle.close();
      assertFalse(handle.isOpen());
      assertThrows(IllegalStateException.class, handle::segment);
    }
  }

  @DeviceTest
  void pathWithoutRouteThrows() {
    try (Pair pair = new Pair()) {
      var thrown =
          assertThrows(
              VerbsException.class,
              () -> pair.a.domain.createAddressHandle(AddressVector.local(1, 1)));
      assertTrue(thrown.getMessage().contains("global route"), thrown.getMessage());
      var noPort =
          assertThrows(
              VerbsException.class,
              () ->
                  pair.a.domain.createAddressHandle(
                      AddressVector.global(2, new GlobalRoute(Gid.of(Rig.addressB()), 1))));
      assertTrue(noPort.getMessage().contains("no such port"), noPort.getMessage());
      assertThrows(IllegalArgumentException.class, () -> AddressVector.local(0, 1));
      assertThrows(IllegalArgumentException.class, () -> AddressVector.local(1, 1 << 16));
      assertThrows(IllegalArgumentException.class, () -> new GlobalRoute(Gid.ZERO, 256));
      assertThrows(
          IllegalArgumentException.class,
          () -> new GlobalRoute(Gid.ZERO, 1).withFlowLabel(1 << 20));
    }
  }

  @DeviceTest
  void answersADatagram() {
    try (Pair pair = new Pair(QueuePairType.UD)) {
      pair.a.queuePair.activate();
      pair.b.queuePair.activate();
      QueuePairAddress b = pair.b.queuePair.localAddress();
      pair.b.receive(1);
      send(pair.a, pair.a.domain.createAddressHandle(pathToB(pair)), b.number(), b.queueKey());
      assertTrue(pair.a.completion().isSuccess(0));

      Completions received = pair.b.completion();
      assertTrue(received.isSuccess(0), received.describe(0));
      assertTrue(received.has(0, CompletionFlag.GRH), "always on RoCE");
      assertEquals(GRH + 8, received.byteLength(0));
      assertEquals(pair.a.queuePair.number(), received.sourceQueuePair(0));
      MemorySegment buffer = pair.b.memory.memory();
      GlobalRoutingHeader header = GlobalRoutingHeader.of(buffer);
      assertEquals(Gid.of(Rig.addressA()), header.source(), header.toString());
      assertEquals(Gid.of(Rig.addressB()), header.destination(), header.toString());
      Port port = pair.b.context.port(1);
      GlobalRoute back = port.pathToSender(received, 0, buffer).route().orElseThrow();
      assertEquals(Gid.of(Rig.addressA()), back.destination());
      assertEquals(Gid.of(Rig.addressB()), port.gid(back.sourceGidIndex()));

      AddressHandle toSender = pair.b.domain.createAddressHandle(port, received, 0, buffer);
      pair.a.receive(2);
      send(pair.b, toSender, received.sourceQueuePair(0), b.queueKey());
      assertTrue(pair.b.completion().isSuccess(0));
      Completions answer = pair.a.completion();
      assertTrue(answer.isSuccess(0), answer.describe(0));
      assertEquals(2, answer.id(0));
      assertEquals(pair.b.queuePair.number(), answer.sourceQueuePair(0));

      try (Arena arena = Arena.ofConfined()) {
        MemorySegment small = arena.allocate(GRH - 1);
        assertThrows(IllegalArgumentException.class, () -> port.pathToSender(received, 0, small));
        assertThrows(
            IllegalArgumentException.class,
            () -> pair.b.domain.createAddressHandle(port, received, 0, small));
      }
      assertThrows(IndexOutOfBoundsException.class, () -> port.pathToSender(received, 1, buffer));
      assertThrows(
          IllegalArgumentException.class,
          () -> pair.a.domain.createAddressHandle(port, received, 0, buffer));
    }
  }

  private static void send(Pair.Side side, AddressHandle handle, int number, int key) {
    SendList list = new SendList(1, 1);
    list.send(0).local(side.memory, 0, 8).to(handle, number, key).signaled();
    assertEquals(1, side.queuePair.post(list));
  }

  @DeviceTest
  @Needs(ONE_KIND)
  @On(
      value = {SOFTWARE, SOFT_ROCE},
      reason = "the emulated NIC has no route to the address of a GID")
  void resolvesToAnEthernetAddress() throws Exception {
    try (Pair pair = new Pair()) {
      Port port = pair.a.context.port(1);
      int index = port.chooseGid().index();
      EthernetDestination found =
          port.resolve(AddressVector.global(1, new GlobalRoute(Gid.of(Rig.addressB()), index)));
      if (!Rig.isSoftware()) {
        byte[] mac = Rig.b().networkInterfaces().getFirst().getHardwareAddress();
        assertEquals(EthernetAddress.fromBytes(mac), found.address());
      }
      assertEquals(OptionalInt.empty(), found.vlan());
    }
  }

  @DeviceTest
  void receivesFromAMulticastGroup() {
    Gid group = Gid.parse("ff0e::ffff:239.0.0.7");
    try (Pair pair = new Pair(QueuePairType.UD)) {
      pair.a.queuePair.activate();
      QueuePair member = pair.a.queuePair;
      member.attachMulticast(group, 0);
      member.attachMulticast(group, 0);
      member.detachMulticast(group, 0);
      var thrown = assertThrows(VerbsException.class, () -> member.detachMulticast(group, 0));
      assertEquals(Errno.EINVAL, thrown.errno());
      assertThrows(
          IllegalArgumentException.class, () -> member.attachMulticast(Gid.parse("fe80::1"), 0));
      assertThrows(IllegalArgumentException.class, () -> member.attachMulticast(group, 1 << 16));
      try (QueuePair connection = pair.a.builder(QueuePairType.RC).create()) {
        assertThrows(IllegalStateException.class, () -> connection.attachMulticast(group, 0));
      }
    }
  }
}
