package dev.verbena.programs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Netem;
import dev.verbena.testing.Rig;
import dev.verbena.testing.Run;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** {@code riostream}, against itself and against rdma-core's. */
class RiostreamProgramTest {
  private static final String[] ASYNC = {"-T", "a"};

  private final StreamRuns runs = new StreamRuns("riostream");

  @DeviceTest
  void clientTalksToRiostreamOfC() throws Exception {
    runs.javaTalksToC("-T", "b");
  }

  @DeviceTest
  void serverTalksToRiostreamOfC() throws Exception {
    runs.cTalksToJava();
  }

  @DeviceTest
  void asynchronousClientTalksToItself() throws Exception {
    runs.javaTalksToItself(Rig.addressA(), Rig.addressB(), ASYNC, ASYNC);
  }

  @DeviceTest
  void talksToRiostreamOfCOverFaultyNetworks() throws Exception {
    for (String fault : Netem.FAULTS) {
      Netem.under(fault, () -> new StreamRuns("riostream").javaTalksToC());
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
