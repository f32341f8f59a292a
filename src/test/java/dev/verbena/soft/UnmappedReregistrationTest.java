package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.SoftRegion;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

/** {@code ibv_rereg_mr} and memory that is not mapped, which only on-demand paging permits. */
class UnmappedReregistrationTest {
  private static final long NOT_MAPPED = 4096;
  private static final int ON_DEMAND =
      rdma_h.IBV_ACCESS_ON_DEMAND() | rdma_h.IBV_ACCESS_LOCAL_WRITE();

  private void move(SoftPair pair, int access) {
    assertEquals(
        0,
        pair.network
            .provider()
            .verbs()
            .ibv_rereg_mr(
                pair.a.region.segment().address(),
                rdma_h.IBV_REREG_MR_CHANGE_TRANSLATION() | rdma_h.IBV_REREG_MR_CHANGE_ACCESS(),
                0,
                NOT_MAPPED,
                NOT_MAPPED,
                access));
  }

  @Test
  void memoryOnDemandNeedNotBeMapped() {
    try (SoftPair pair = SoftPair.unconnected()) {
      move(pair, ON_DEMAND);
    }
  }

  @Test
  void otherMemoryMustBeMapped() {
    try (SoftPair pair = SoftPair.unconnected()) {
      var thrown =
          assertThrows(VerbsException.class, () -> move(pair, rdma_h.IBV_ACCESS_LOCAL_WRITE()));
      assertEquals(Errno.EFAULT, thrown.errno());
    }
  }

  @Test
  void memoryThatIsNoLongerOnDemandMustBeMapped() {
    try (SoftPair pair = SoftPair.unconnected()) {
      move(pair, ON_DEMAND);
      var thrown =
          assertThrows(
              VerbsException.class,
              () ->
                  pair.network
                      .provider()
                      .verbs()
                      .ibv_rereg_mr(
                          pair.a.region.segment().address(),
                          rdma_h.IBV_REREG_MR_CHANGE_ACCESS(),
                          0,
                          0,
                          0,
                          rdma_h.IBV_ACCESS_LOCAL_WRITE()));
      assertEquals(Errno.EFAULT, thrown.errno());
    }
  }

  /** Another thread may close a region between its registration and the report of its segment. */
  @Test
  void memoryOfARegionThatWasDeregisteredMeanwhileIsNotHeld() {
    try (SoftPair pair = SoftPair.unconnected()) {
      long address = pair.a.region.segment().address();
      SoftRegion region = Registry.at(address, SoftRegion.class);
      MemorySegment memory = pair.a.region.memory();
      pair.a.region.close();
      region.hold(memory);
      assertNull(region.local);
    }
  }
}
