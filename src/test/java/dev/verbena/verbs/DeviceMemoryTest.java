package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Rig;

/** Device memory on a device that has none. */
class DeviceMemoryTest {
  @DeviceTest
  void softRoceRefusesItWithReason() {
    try (Context context = Rig.a().open()) {
      assertThrows(IllegalArgumentException.class, () -> context.allocateDeviceMemory(0));
      assertThrows(IllegalArgumentException.class, () -> context.allocateDeviceMemory(64, 3));
      assertThrows(IllegalArgumentException.class, () -> context.allocateDeviceMemory(64, 0));
      assertThrows(IllegalArgumentException.class, () -> context.importDeviceMemory(1, 0));
      Refusal.of(() -> context.allocateDeviceMemory(64, 8), "no memory of its own");
      Refusal.of(() -> context.importDeviceMemory(1, 64));
    }
  }
}
