package dev.verbena.cm;

import static dev.verbena.testing.Need.ADDRESSES;
import static dev.verbena.testing.Need.CM;
import static dev.verbena.testing.Need.DESCRIPTORS;
import static dev.verbena.testing.Need.PEERS;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.testing.Await;
import dev.verbena.testing.Background;
import dev.verbena.testing.Descriptors;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Program;
import dev.verbena.testing.Rig;
import dev.verbena.verbs.AddressHandle;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;

/**
 * Multicast groups. Datagrams get lost, and nobody tells when a group is ready to forward them: so
 * whoever sends sends again until something arrives.
 */
@Needs(CM)
class MulticastTest {
  private static final Duration SHORTLY = Duration.ofMillis(100);

  static InetSocketAddress group(String address) throws Exception {
    return new InetSocketAddress(InetAddress.getByName(address), 0);
  }

  @DeviceTest
  void datagramReachesBothMembers() throws Exception {
    InetSocketAddress group = group("239.7.8.1");
    try (MulticastMember near = MulticastMember.of(group, JoinFlag.FULLMEMBER, Rig.addressA());
        MulticastMember far = MulticastMember.of(group, JoinFlag.FULLMEMBER, Rig.addressB());
        MulticastMember sender = MulticastMember.of(group, JoinFlag.FULLMEMBER, Rig.addressA());
        AddressHandle toGroup = sender.toGroup()) {
      assertEquals(0xff_ffff, sender.group().queuePairNumber());
      assertEquals(7, sender.joined().argument());
      boolean nearGot = false;
      boolean farGot = false;
      for (int i = 0; i < 100 && !(nearGot && farGot); i++) {
        sender.send(toGroup);
        nearGot |= near.datagrams().receive(SHORTLY);
        farGot |= far.datagrams().receive(SHORTLY);
      }
      assertTrue(nearGot, "nothing arrived at the sender's own device");
      assertTrue(farGot, "nothing arrived at the other device");
    }
  }

  @DeviceTest
  void leavingStopsDelivery() throws Exception {
    InetSocketAddress group = group("239.7.8.2");
    try (MulticastMember member = MulticastMember.of(group, JoinFlag.FULLMEMBER, Rig.addressB());
        MulticastMember sender =
            MulticastMember.of(group, JoinFlag.SENDONLY_FULLMEMBER, Rig.addressA());
        AddressHandle toGroup = sender.toGroup()) {
      boolean got = false;
      for (int i = 0; i < 100 && !got; i++) {
        sender.send(toGroup);
        got = member.datagrams().receive(SHORTLY);
      }
      assertTrue(got, "nothing arrived at a member");
      member.joined().id().multicast().leave(group);
      while (member.datagrams().receive(SHORTLY)) {
        // What was on its way.
      }
      for (int i = 0; i < 5; i++) {
        sender.send(toGroup);
      }
      assertFalse(member.datagrams().receive(Duration.ofSeconds(1)), "still a member");
      assertThrows(VerbsException.class, () -> member.joined().id().multicast().leave(group));
    }
  }

  @DeviceTest
  void endpointJoinsAndReceives() throws Exception {
    InetSocketAddress group = group("239.7.8.11");
    try (Endpoint endpoint = bound(Rig.addressB());
        NumberedDatagrams datagrams = new NumberedDatagrams(endpoint.id());
        MulticastMember sender =
            MulticastMember.of(group, JoinFlag.SENDONLY_FULLMEMBER, Rig.addressA());
        AddressHandle toGroup = sender.toGroup()) {
      DatagramParameters joined =
          endpoint.joinMulticast(group, JoinFlag.FULLMEMBER, RdmaCmTest.SOON);
      assertEquals(0xff_ffff, joined.queuePairNumber());
      assertEquals(sender.group().queueKey(), joined.queueKey());
      boolean got = false;
      for (int i = 0; i < 100 && !got; i++) {
        sender.send(toGroup);
        got = datagrams.receive(SHORTLY);
      }
      assertTrue(got, "nothing arrived at the endpoint");
      endpoint.id().multicast().leave(group);
    }
  }

  @DeviceTest
  void endpointJoinsGroupsConcurrently() throws Exception {
    try (Endpoint endpoint = bound(Rig.addressB())) {
      endpoint.id().queues().createQueuePair(RdmaCmTest.SMALL);
      for (int round = 0; round < 20; round++) {
        List<InetSocketAddress> groups = new ArrayList<>();
        List<FutureTask<DatagramParameters>> joins = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
          InetSocketAddress group = group("239.7.9." + i);
          groups.add(group);
          joins.add(
              Background.inBackground(
                  () -> endpoint.joinMulticast(group, JoinFlag.FULLMEMBER, RdmaCmTest.SOON)));
        }
        for (int i = 0; i < groups.size(); i++) {
          byte[] gid = joins.get(i).get().path().route().orElseThrow().destination().toBytes();
          assertArrayEquals(
              groups.get(i).getAddress().getAddress(),
              Arrays.copyOfRange(gid, 12, 16),
              "the parameters of another group");
          endpoint.id().multicast().leave(groups.get(i));
        }
      }
    }
  }

  @DeviceTest
  void onlyABoundDatagramServiceJoins() throws Exception {
    InetSocketAddress group = group("239.7.8.12");
    try (Listener listener =
            Listener.open(PortSpace.UDP, new InetSocketAddress(Rig.addressB(), 0), 1);
        Endpoint resolved =
            Endpoint.resolve(
                PortSpace.UDP,
                new InetSocketAddress(Rig.addressA(), 0),
                listener.address().orElseThrow(),
                RdmaCmTest.SOON);
        Endpoint connection =
            Endpoint.bind(PortSpace.TCP, new InetSocketAddress(Rig.addressA(), 0))) {
      for (Endpoint wrong : List.of(resolved, connection)) {
        var refused =
            assertThrows(
                VerbsException.class,
                () -> wrong.joinMulticast(group, JoinFlag.FULLMEMBER, RdmaCmTest.SOON));
        assertEquals(Errno.EINVAL, refused.errno(), refused::getMessage);
      }
    }
    try (Endpoint wildcard = Endpoint.bind(PortSpace.UDP, new InetSocketAddress("0.0.0.0", 0))) {
      assertThrows(
          IllegalStateException.class,
          () -> wildcard.joinMulticast(group, JoinFlag.FULLMEMBER, RdmaCmTest.SOON));
    }
  }

  private static Endpoint bound(InetAddress address) {
    return Endpoint.bind(PortSpace.UDP, new InetSocketAddress(address, 0));
  }

  /**
   * The kernel destroys no queue pair that is in a group, and librdmacm does not ask whether it
   * did.
   */
  @DeviceTest
  @Needs(DESCRIPTORS)
  void closingLeavesNoMembership() throws Exception {
    Contexts.list(); // Opens the devices, which stay open.
    List<String> before = Descriptors.ofRdma();
    int queuePairs = queuePairs();
    MulticastMember.of(group("239.7.8.6"), JoinFlag.FULLMEMBER, Rig.addressB()).close();
    assertEquals(before, Descriptors.ofRdma());
    assertEquals(queuePairs, queuePairs());
    try (EventChannel channel = EventChannel.open()) {
      ConnectionId id = channel.createId(PortSpace.UDP);
      id.bind(new InetSocketAddress(Rig.addressB(), 0));
      for (String group : List.of("239.7.8.6", "239.7.8.7")) {
        id.queues().createQueuePair(RdmaCmTest.SMALL);
        id.multicast().join(group(group), JoinFlag.FULLMEMBER, 1);
        Identifiers.next(channel, EventType.MULTICAST_JOIN);
        id.queuePair().orElseThrow().close();
      }
      assertThrows(VerbsException.class, () -> id.multicast().leave(group("239.7.8.6")));
    }
    assertEquals(before, Descriptors.ofRdma());
    assertEquals(queuePairs, queuePairs());
  }

  private static int queuePairs() throws Exception {
    if (Rig.isSoftware()) {
      return 0; // The kernel has none; closing one that is still attached would fail.
    }
    try (Program list = Program.start(List.of("rdma", "resource", "show", "qp"))) {
      return (int) list.endsWell().lines().filter(line -> line.contains("type UD")).count();
    }
  }

  @DeviceTest
  void leavesInSynchronousMode() throws Exception {
    InetSocketAddress group = group("239.7.8.8");
    try (ConnectionId id = SynchronousMode.createId(PortSpace.UDP)) {
      id.bind(new InetSocketAddress(Rig.addressB(), 0));
      id.queues().createQueuePair(RdmaCmTest.SMALL);
      FutureTask<Void> leaving =
          Background.inBackground(
              () -> {
                id.multicast().join(group, 3);
                id.multicast().leave(group);
                return null;
              });
      leaving.get();
      ConnectionEvent joined = id.lastEvent().orElseThrow();
      assertEquals(EventType.MULTICAST_JOIN, joined.type());
      assertEquals(3, joined.argument());
    }
  }

  @DeviceTest
  @Needs(ADDRESSES)
  void ipv6GroupsAreUnsupportedOverRoceV2() throws Exception {
    InetSocketAddress group = group("ff15::7:8:3");
    try (EventChannel channel = EventChannel.open()) {
      ConnectionId id = channel.createId(PortSpace.UDP);
      id.bind(new InetSocketAddress(Rig.address6A(), 0));
      id.queues().createQueuePair(RdmaCmTest.SMALL);
      var refused = assertThrows(VerbsException.class, () -> id.multicast().join(group, 1));
      assertTrue(refused.isUnsupported(), refused.getMessage());
      assertTrue(refused.getMessage().contains("ENOTSUPP"), refused.getMessage());
    }
    if (Rig.isSoftware()) {
      return;
    }
    try (Program mckey =
        Program.start(
            List.of("mckey", "-b", Rig.address6A().getHostAddress(), "-m", "ff15::7:8:3"))) {
      mckey.process().waitFor();
      assertTrue(mckey.text().contains("failure joining"), mckey::text);
    }
  }

  @DeviceTest
  @Needs(PEERS)
  void mckeyReceives() throws Exception {
    InetSocketAddress group = group("239.7.8.4");
    mckeyReceives(group, () -> member(group, Rig.addressA()), Rig.addressB());
  }

  static MulticastMember member(InetSocketAddress group, InetAddress own) throws Exception {
    return MulticastMember.of(group, JoinFlag.FULLMEMBER, own);
  }

  /** Java, which becomes a member, sends to mckey at an address. */
  static void mckeyReceives(InetSocketAddress group, Callable<MulticastMember> java, InetAddress c)
      throws Exception {
    try (Program mckey = Program.start(mckey(c, group, "-C", "3"));
        MulticastMember sender = java.call();
        AddressHandle toGroup = sender.toGroup()) {
      for (int i = 0; i < 300 && mckey.process().isAlive(); i++) {
        sender.send(toGroup);
        Await.pass(SHORTLY, "between datagrams, of which some may be lost");
      }
      assertTrue(mckey.endsWell().contains("data transfers complete"), mckey::text);
    }
  }

  @DeviceTest
  @Needs(PEERS)
  void mckeySends() throws Exception {
    InetSocketAddress group = group("239.7.8.5");
    mckeySends(group, () -> member(group, Rig.addressA()), Rig.addressB());
  }

  /** Java, which becomes a member, receives from mckey at an address. */
  static void mckeySends(InetSocketAddress group, Callable<MulticastMember> java, InetAddress c)
      throws Exception {
    try (MulticastMember member = java.call()) {
      boolean _ =
          Await.attempt(
              "a datagram of mckey",
              () -> {
                try (Program mckey = Program.start(mckeySending(c, group))) {
                  mckey.endsWell();
                }
                return member.datagrams().receive(SHORTLY) ? true : null;
              });
    }
  }

  /**
   * It destroys its queue pair as soon as all is posted, and what the device has not sent by then
   * is never sent: so it posts many messages, and may have to be started again.
   */
  static List<String> mckeySending(InetAddress own, InetSocketAddress group) {
    return mckey(own, group, "-s", "-C", "16000");
  }

  static List<String> mckey(InetAddress own, InetSocketAddress group, String... options) {
    List<String> mckey =
        List.of("mckey", "-b", own.getHostAddress(), "-m", group.getAddress().getHostAddress());
    return Program.with(mckey, options);
  }
}
