package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Rig;

/** DMA handles, as rdma-core's test_dmah.py tests them, on a device that has none. */
class DmahTest {
  @DeviceTest
  void softRoceRefusesThem() {
    try (Context context = Rig.a().open()) {
      DmaHandle.Builder builder = context.dmaHandle();
      assertThrows(IllegalArgumentException.class, () -> builder.cpu(-1));
      assertThrows(IllegalArgumentException.class, () -> builder.processingHint(4));
      builder.cpu(0).processingHint(1).memoryType(DmaHandle.MemoryType.VOLATILE);
      Refusal.of(builder::create);
    }
  }
}
