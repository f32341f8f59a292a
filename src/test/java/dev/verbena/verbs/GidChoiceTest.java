package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.address.Gid;
import dev.verbena.address.GidEntry;
import dev.verbena.address.GidType;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GidChoiceTest {
  private static final GidType V1 = GidType.ROCE_V1;
  private static final GidType V2 = GidType.ROCE_V2;

  private static List<GidEntry> table(Object... typesAndGids) {
    List<GidEntry> table = new ArrayList<>();
    for (int i = 0; i < typesAndGids.length; i += 2) {
      Gid gid = Gid.parse((String) typesAndGids[i + 1]);
      table.add(new GidEntry(gid, i / 2, 1, (GidType) typesAndGids[i], 2));
    }
    return table;
  }

  /** What a Mellanox card shows: each address twice, and the link-local ones first. */
  private static final List<GidEntry> CARD =
      table(
          V1,
          "fe80::1",
          V2,
          "fe80::1",
          V1,
          "2001:db8::1",
          V2,
          "2001:db8::1",
          V1,
          "192.0.2.1",
          V2,
          "192.0.2.1",
          V2,
          "192.0.2.7");

  @ParameterizedTest
  @CsvSource({"192.0.2.7, 6", "192.0.2.1, 5", "2001:db8::1, 3", "fe80::1, 1"})
  void takesTheSourceAddressAndItsBetterType(String source, int index) throws Exception {
    GidChoice choice = GidChoice.ofEthernet(CARD, InetAddress.getByName(source), "port 1");
    assertEquals(index, choice.index());
    assertTrue(choice.reason().contains("RoCE v2"), choice.reason());
  }

  @Test
  void prefersRoceV2ThenIpv4ThenTheLowestIndex() {
    GidChoice choice = GidChoice.ofEthernet(CARD, null, "port 1");
    assertEquals(5, choice.index());
    assertEquals(0, choice.lid());
    assertTrue(choice.isGlobal());
    assertTrue(choice.reason().contains("IPv4"), choice.reason());
  }

  @Test
  void prefersGlobalToLinkLocal() {
    List<GidEntry> table = table(V2, "fe80::1", V2, "2001:db8::1");
    assertEquals(1, GidChoice.ofEthernet(table, null, "port 1").index());
  }

  @Test
  void takesLinkLocalOrRoceV1WhereNothingElseIs() {
    assertEquals(0, GidChoice.ofEthernet(table(V2, "fe80::1"), null, "port 1").index());
    assertEquals(0, GidChoice.ofEthernet(table(V1, "192.0.2.1"), null, "port 1").index());
    List<GidEntry> both = table(V1, "192.0.2.1", V2, "fe80::1");
    assertEquals(1, GidChoice.ofEthernet(both, null, "port 1").index());
  }

  @Test
  void exceptionListsTheGids() throws Exception {
    InetAddress other = InetAddress.getByName("198.51.100.1");
    var thrown =
        assertThrows(
            IllegalStateException.class, () -> GidChoice.ofEthernet(CARD, other, "port 1 of x"));
    assertTrue(thrown.getMessage().contains("198.51.100.1"), thrown.getMessage());
    assertTrue(thrown.getMessage().contains("192.0.2.7"), thrown.getMessage());
    var empty =
        assertThrows(
            IllegalStateException.class, () -> GidChoice.ofEthernet(List.of(), null, "port 1"));
    assertTrue(empty.getMessage().contains("no GID"), empty.getMessage());
  }

  private static GidChoice toward(String peer, String route) throws Exception {
    InetAddress source = route == null ? null : InetAddress.getByName(route);
    return GidChoice.toward(CARD, InetAddress.getByName(peer), source, "port 1");
  }

  @Test
  void theRouteToThePeerDecidesAmongAddresses() throws Exception {
    assertEquals(6, toward("192.0.2.99", "192.0.2.7").index());
    assertEquals(5, toward("192.0.2.99", "192.0.2.1").index());
    assertEquals(3, toward("2001:db8::99", "2001:db8::1").index());
    assertTrue(
        toward("192.0.2.99", "192.0.2.7").reason().contains("route to 192.0.2.99"),
        toward("192.0.2.99", "192.0.2.7").reason());
  }

  @Test
  void thePeersFamilyDecidesWithoutARouteFromThePort() throws Exception {
    assertEquals(5, toward("192.0.2.99", null).index());
    assertEquals(5, toward("192.0.2.99", "198.51.100.1").index(), "of another device");
    assertEquals(3, toward("2001:db8::99", null).index());
    List<GidEntry> ipv4 = table(V2, "192.0.2.1");
    InetAddress peer = InetAddress.getByName("2001:db8::99");
    var thrown =
        assertThrows(
            IllegalStateException.class, () -> GidChoice.toward(ipv4, peer, null, "port 1"));
    assertTrue(thrown.getMessage().contains("2001:db8"), thrown.getMessage());
  }

  @Test
  void gidsOfOtherNamespacesAreNotChosen() {
    Gid own = Gid.parse("::ffff:192.0.2.7");
    LocalAddresses here = new LocalAddresses(Set.of(1, 2), Set.of(own));
    assertEquals(
        List.of("fe80::1", "fe80::1", "::ffff:192.0.2.7"),
        here.visible(CARD, "port 1").stream().map(entry -> entry.gid().toString()).toList());
    LocalAddresses elsewhere = new LocalAddresses(Set.of(1), Set.of(own));
    var thrown = assertThrows(IllegalStateException.class, () -> elsewhere.visible(CARD, "port 1"));
    assertTrue(thrown.getMessage().contains("namespaces"), thrown.getMessage());
    List<GidEntry> software = List.of(new GidEntry(own, 0, 1, V2, 0));
    assertEquals(software, elsewhere.visible(software, "port 1"));
    assertEquals(List.of(), elsewhere.visible(List.of(), "port 1"));
  }

  @Test
  void theRouteIsThatOfTheKernel() throws Exception {
    InetAddress loopback = InetAddress.getByAddress(new byte[] {127, 0, 0, 1});
    assertEquals(loopback, LocalAddresses.sourceTo(loopback));
    // A socket may not send there unless it is allowed to broadcast.
    assertNull(LocalAddresses.sourceTo(InetAddress.getByName("255.255.255.255")));
  }

  @Test
  void roceVersionsAndFamiliesDoNotMix() {
    Gid remote = Gid.parse("::ffff:192.0.2.99");
    GidChoice local = GidChoice.ofEthernet(CARD, null, "port 1");
    assertEquals(Optional.empty(), local.mismatch(remote, V2));
    assertEquals(Optional.empty(), local.mismatch(remote, GidType.UNKNOWN));
    assertTrue(local.mismatch(remote, V1).orElseThrow().contains("RoCE v1"));
    assertTrue(local.mismatch(Gid.parse("2001:db8::1"), V2).orElseThrow().contains("famil"));
  }

  @Test
  void anotherInfiniBandSubnetNeedsAPathRecord() {
    GidChoice local =
        GidChoice.ofInfiniBand(table(GidType.IB, "fe80::2:c903:1:2"), null, 17, "port 1");
    assertEquals(Optional.empty(), local.mismatch(Gid.parse("fe80::9"), GidType.IB));
    String fault = local.mismatch(Gid.parse("fec0:0:0:7::9"), GidType.IB).orElseThrow();
    assertTrue(fault.contains("router"), fault);
  }

  @Test
  void reachesInfiniBandByLid() {
    List<GidEntry> table = table(GidType.IB, "fe80::2:c903:1:2");
    GidChoice choice = GidChoice.ofInfiniBand(table, null, 17, "port 1");
    assertEquals(17, choice.lid());
    assertEquals(0, choice.index());
    assertFalse(choice.isGlobal());
    assertTrue(choice.reason().contains("LID 17"), choice.reason());
  }
}
