package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
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
