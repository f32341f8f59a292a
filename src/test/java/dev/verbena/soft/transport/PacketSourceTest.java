package dev.verbena.soft.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.soft.wire.Packet;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** The sources of packets as keys of a hash table. */
class PacketSourceTest {
  private static PacketSource source(long gidHigh, long gidLow, int number) {
    Packet packet = new Packet();
    packet.sourceGidHigh = gidHigh;
    packet.sourceGidLow = gidLow;
    packet.sourceNumber = number;
    return new PacketSource().of(packet);
  }

  /** A stranger chooses them so: a hash table orders them, instead of looking at each. */
  @Test
  void sourcesWithTheSameHashCodeHaveAnOrder() {
    TreeSet<PacketSource> ordered = new TreeSet<>();
    for (int i = 0; i < 100; i++) {
      PacketSource source = source(i, -31L * i, 5);
      assertEquals(source(0, 0, 5).hashCode(), source.hashCode());
      assertTrue(ordered.add(source));
    }
    assertTrue(ordered.add(source(0, 1, 5)));
    assertTrue(ordered.add(source(0, 0, 6)));
    assertTrue(ordered.contains(source(7, -31L * 7, 5)));
  }
}
