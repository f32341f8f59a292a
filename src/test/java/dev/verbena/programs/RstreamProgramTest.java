package dev.verbena.programs;

import static dev.verbena.testing.Environment.BOOKWORM;
import static dev.verbena.testing.Need.CM;
import static dev.verbena.testing.Need.PEERS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Netem;
import dev.verbena.testing.Once;
import dev.verbena.testing.Ports;
import dev.verbena.testing.Rig;
import dev.verbena.testing.Run;
import java.net.InetAddress;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** {@code rstream}, against itself and against rdma-core's. */
@Needs(CM)
@Once(value = BOOKWORM, reason = "the messages of rstream, the same in all versions")
class RstreamProgramTest {
  private static final String[] BLOCKING = {"-T", "b"};

  private final StreamRuns runs = new StreamRuns("rstream");

  @DeviceTest
  @Needs(PEERS)
  void clientTalksToRstreamOfC() throws Exception {
    runs.javaTalksToC();
  }

  @DeviceTest
  @Needs(PEERS)
  void serverTalksToRstreamOfC() throws Exception {
    runs.cTalksToJava("-T", "a");
  }

  @DeviceTest
  void blockingClientTalksToItself() throws Exception {
    runs.javaTalksToItself(Rig.addressA(), Rig.addressB(), BLOCKING, BLOCKING);
  }

  @DeviceTest
  @Needs(PEERS)
  void talksToRstreamOfCOverFaultyNetworks() throws Exception {
    for (String fault : Netem.FAULTS) {
      Netem.underFromB(fault, () -> new StreamRuns("rstream").javaTalksToC());
      Netem.under(fault, () -> new StreamRuns("rstream").cTalksToJava());
    }
  }

  @Test
  @Tag("host")
  void talksOverTcp() throws Exception {
    InetAddress here = InetAddress.getLoopbackAddress();
    String[] fork = {"-T", "fork", "-T", "resolve", "-f", "ip"};
    runs.javaTalksToItself(here, here, fork, "-T", "s", "-T", "a");
  }

  @Test
  @Tag("host")
  void keepaliveIsPrinted() throws Exception {
    InetAddress here = InetAddress.getLoopbackAddress();
    String[] tcp = {"-T", "s"};
    String output = runs.javaTalksToItself(here, here, tcp, "-T", "s", "-k", "5");
    assertTrue(output.contains("Keepalive: ON\n  time: 5\n"), output);
  }

  @Test
  @Tag("host")
  void withoutAConnectionThereIsNoTable() {
    Run run = Run.of("rstream", "-T", "s", "-s", "127.0.0.1", "-p", Ports.free());
    assertEquals(1, run.status());
    assertEquals("", run.out());
    assertEquals("programs rstream: Connection refused\n", run.err());
  }

  @Test
  @Tag("host")
  void argumentsAreChecked() {
    assertEquals(2, Run.of("rstream", "-S", "x").status());
    assertEquals(2, Run.of("rstream", "-C", "0").status());
    assertEquals(2, Run.of("rstream", "-T", "unknown").status());
    assertTrue(Run.of("rstream", "-f", "gid").err().contains("must be name, ip or ipv6: gid"));
    assertTrue(Run.of("rstream", "--help").out().contains("-b"));
  }
}
