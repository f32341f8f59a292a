package dev.verbena.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Rig;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.DisplayName;

/**
 * A cable that loses everything. The kernel asks again for more than a minute before it says that
 * the peer is unreachable: whoever waits for less gets a timeout, and leaves nothing behind.
 */
class BlackHoleTest {
  private static final Duration SHORTLY = Duration.ofSeconds(2);

  private static void cable(String change, String... discipline) throws Exception {
    List<String> tc = List.of("tc", "qdisc", change, "dev", Rig.netdevA(), "root");
    try (Program program = Program.start(Program.with(tc, discipline))) {
      program.endsWell();
    }
  }

  @DeviceTest
  @DisplayName("S2-C13: a request that gets lost does not hold its sender")
  void theRequestGetsLost() throws Exception {
    try (Listener listener = Listener.open(Host.b4().at(0))) {
      ConnectionSettings settings =
          ConnectionSettings.DEFAULT.from(Host.a4().at(0)).within(SHORTLY);
      InetSocketAddress server = Host.b4().at(listener.port());
      cable("add", "netem", "loss", "100%");
      try {
        long start = System.nanoTime();
        var late = assertThrows(VerbsException.class, () -> Connection.connect(server, settings));
        assertEquals(Errno.ETIMEDOUT, late.errno());
        assertEquals("rdma_connect", late.function());
        Duration took = Duration.ofNanos(System.nanoTime() - start);
        assertTrue(took.compareTo(Duration.ofSeconds(10)) < 0, took::toString);
      } finally {
        cable("del");
      }
    }
  }
}
