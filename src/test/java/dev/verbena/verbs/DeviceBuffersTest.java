package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Device memory that the peer writes to, and its limit. */
@On(
    value = {SOFTWARE, MLX5},
    reason = "Soft-RoCE has no device memory")
class DeviceBuffersTest {
  @DeviceTest
  void peersWriteToDeviceMemory() {
    try (Pair pair = Pair.connected(QueuePairType.RC);
        Arena arena = Arena.ofConfined()) {
      DeviceMemory memory = Rig.orSkip(() -> DeviceMemory.allocate(pair.b.context, 4096));
      MemoryRegion region =
          memory.register(
              pair.b.domain, 1024, 1024, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      pair.a.memory.memory().setString(0, "to the device");
      SendList list = new SendList(1, 1);
      list.write(0).local(pair.a.memory, 0, 64).remote(region.start() + 8, region.rkey());
      list.signaled(0);
      pair.a.run(list);
      MemorySegment copy = arena.allocate(64);
      memory.read(1024 + 8, copy);
      assertEquals("to the device", copy.getString(0));
      VerbsException fixed =
          assertThrows(
              VerbsException.class,
              () -> region.reregister().access(AccessFlag.LOCAL_WRITE).apply());
      assertEquals(Errno.EINVAL, fixed.errno());
    }
  }

  @DeviceTest
  void deviceMemoryIsLimited() {
    try (Context context = Rig.a().open()) {
      Rig.orSkip(() -> DeviceMemory.allocate(context, 64)).close();
      long all = context.deviceAttributes().maxDeviceMemory();
      try (DeviceMemory memory = DeviceMemory.allocate(context, all)) {
        assertEquals(all, memory.length());
        assertThrows(VerbsException.class, () -> DeviceMemory.allocate(context, 1));
      }
      DeviceMemory.allocate(context, all).close();
    }
  }
}
