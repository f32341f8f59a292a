package dev.verbena.internal.foreign;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

/** The memory of regions, without a device. */
class KeptMemoryTest {
  /** The arena of a cache of registrations lives long. */
  @Test
  void arenaDoesNotGrowWithEachRegistration() {
    try (Arena shared = Arena.ofShared()) {
      MemorySegment memory = shared.allocate(4096);
      for (int i = 0; i < 10; i++) {
        KeptMemory.of(memory).release();
        KeptMemory.of(memory.asSlice(64L * i, 64)).release();
      }
      KeptMemory open = KeptMemory.of(memory);
      assertEquals(
          "1 memory regions in 1 ranges of an arena", ArenaRegions.of(memory.scope()).toString());
      open.release();
    }
  }
}
