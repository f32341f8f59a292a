package dev.verbena.programs;

import static dev.verbena.testing.Environment.BOOKWORM;
import static dev.verbena.testing.Need.CM;
import static dev.verbena.testing.Need.PEERS;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Netem;
import dev.verbena.testing.Once;
import dev.verbena.testing.Rig;
import dev.verbena.testing.Run;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** {@code riostream}, against itself and against rdma-core's. */
@Needs(CM)
@Once(value = BOOKWORM, reason = "the messages of riostream, the same in all versions")
class RiostreamProgramTest {
  private static final String[] ASYNC = {"-T", "a"};

  private final StreamRuns runs = new StreamRuns("riostream");

  @DeviceTest
  @Needs(PEERS)
  void clientTalksToRiostreamOfC() throws Exception {
    runs.javaTalksToC("-T", "b");
  }

  @DeviceTest
  @Needs(PEERS)
  void serverTalksToRiostreamOfC() throws Exception {
    runs.cTalksToJava();
  }

  @DeviceTest
  void asynchronousClientTalksToItself() throws Exception {
    runs.javaTalksToItself(Rig.addressA(), Rig.addressB(), ASYNC, ASYNC);
  }

  @DeviceTest
  @Needs(PEERS)
  void talksToRiostreamOfCOverFaultyNetworks() throws Exception {
    for (String fault : Netem.FAULTS) {
      Netem.underFromB(fault, () -> new StreamRuns("riostream").javaTalksToC());
      Netem.under(fault, () -> new StreamRuns("riostream").cTalksToJava());
    }
  }

  @Test
  @Tag("host")
  void argumentsAreChecked() {
    assertEquals(2, Run.of("riostream", "-T", "s").status());
    assertEquals(2, Run.of("riostream", "-k", "1").status());
    assertEquals(2, Run.of("riostream", "-I", "0").status());
  }
}
