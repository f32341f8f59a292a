package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.internal.time.Time;
import dev.verbena.soft.InSimulation;
import java.net.InetAddress;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;

/** How long it is remembered that an address did not answer by RDMA. */
@Tag("host")
@InSimulation
@EnabledForJreRange(minVersion = 24) // They would wait for minutes.
class SilentPeersTest {
  private static void assertLasts(InetAddress address, long nanos) throws InterruptedException {
    Time.sleep(nanos - 1);
    assertTrue(SilentPeers.contains(address));
    Time.sleep(1);
    assertFalse(SilentPeers.contains(address));
  }

  @Test
  void lastsFourTimesAsLongEachTime() throws Exception {
    InetAddress silent = InetAddress.ofLiteral("198.51.100.1");
    for (long nanos : new long[] {1, 4, 16, 64, 64}) {
      SilentPeers.add(silent, SilentPeers.FIRST);
      assertLasts(silent, nanos * SilentPeers.FIRST);
    }
    SilentPeers.answered(silent);
    SilentPeers.add(silent, SilentPeers.FIRST);
    assertLasts(silent, SilentPeers.FIRST);
  }

  /** They began before the first of them had noticed it. */
  @Test
  void manyConnectsAtOnceCountAsOne() throws Exception {
    InetAddress silent = InetAddress.ofLiteral("198.51.100.2");
    for (int i = 0; i < 100; i++) {
      SilentPeers.add(silent, SilentPeers.FIRST);
    }
    assertLasts(silent, SilentPeers.FIRST);
  }

  @Test
  void rememberedAddressesAreBounded() {
    for (int i = 0; i <= SilentPeers.MAX; i++) {
      SilentPeers.add(
          InetAddress.ofLiteral("203.0.%d.%d".formatted(i >> 8, i & 0xff)), SilentPeers.FIRST);
    }
    assertFalse(SilentPeers.contains(InetAddress.ofLiteral("203.0.0.0")));
    InetAddress kept = InetAddress.ofLiteral("203.0.0.1");
    assertTrue(SilentPeers.contains(kept));
    SilentPeers.answered(kept);
    assertFalse(SilentPeers.contains(kept));
  }
}
