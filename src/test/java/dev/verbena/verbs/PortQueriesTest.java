package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.EFA;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.address.Gid;
import dev.verbena.address.GidEntry;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** What libraries of different ages tell of ports. */
class PortQueriesTest extends FakeDeviceFixture {
  private boolean hasTable = true;
  private long speed = -1;

  public long _ibv_query_gid_table(
      long context, long entries, long max, int flags, long entrySize) {
    if (!hasTable) {
      throw new VerbsException("_ibv_query_gid_table", Errno.EOPNOTSUPP, "needs rdma-core 32");
    }
    for (int i = 0; i < 4; i++) {
      long entry = entries + i * entrySize;
      provider.verbs()._ibv_query_gid_ex(context, 1 + i / 2, i % 2, entry, 0, entrySize);
    }
    return 4;
  }

  public void ibv_query_port_speed(long context, int port, long result) {
    if (speed < 0) {
      throw new VerbsException("ibv_query_port_speed", Errno.EOPNOTSUPP);
    }
    Memory.putLong(result, speed);
  }

  @Test
  void gidsAreQueriedOneByOneWithoutTableQuery() {
    List<Gid> table = context.gidTable().stream().map(GidEntry::gid).toList();
    hasTable = false;
    List<GidEntry> oneByOne = context.gidTable();
    assertEquals(table, oneByOne.stream().map(GidEntry::gid).toList());
    assertEquals(4, oneByOne.size());
    assertEquals(oneByOne.subList(0, 2), context.port(1).gidTable());
    assertEquals(oneByOne.subList(2, 4), context.port(2).gidTable());
  }

  @Test
  void anUnusedGidIndexIsNamed() {
    var thrown = assertThrows(VerbsException.class, () -> context.port(1).gidEntry(7));
    assertEquals(Errno.ENODATA, thrown.errno());
    String message = thrown.getMessage();
    assertTrue(message.contains("has no GID at index 7 of its table; it has 0 ("), message);
    assertTrue(message.contains(context.port(1).gid(1).toString()), message);
  }

  @Test
  void speedIsInUnitsOf100Megabits() {
    assertEquals(OptionalLong.empty(), context.port(1).megabitsPerSecond());
    speed = 4000;
    assertEquals(OptionalLong.of(400_000), context.port(1).megabitsPerSecond());
  }

  @DeviceTest
  @On(EFA)
  void theSpeedOfAnEfaIsThatOfItsLanes() {
    try (Context real = Rig.a().open()) {
      assertEquals(OptionalLong.of(100_000), real.port(1).megabitsPerSecond());
    }
  }

  @DeviceTest
  void softRoceHasNoSpeed() {
    try (Context real = Rig.a().open()) {
      assertEquals(OptionalLong.empty(), real.port(1).megabitsPerSecond());
    }
  }
}
