package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.VerbsException;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.CompletionStatus;
import dev.verbena.verbs.DeviceMemory;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.SendList;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

/** Device memory, and memory that is no longer there. */
class DeviceBuffersTest {
  @Test
  void peersWriteToDeviceMemory() {
    try (SoftPair pair = SoftPair.connected();
        Arena arena = Arena.ofConfined()) {
      DeviceMemory memory = pair.b.context.allocateDeviceMemory(4096);
      MemoryRegion region =
          memory.register(
              pair.b.domain, 1024, 1024, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      pair.a.memory.setString(0, "to the device");
      SendList list = new SendList(1, 1);
      list.write(0).local(pair.a.region, 0, 64).remote(region.start() + 8, region.rkey());
      list.signaled(0);
      assertEquals(1, pair.a.queuePair.post(list));
      assertEquals(CompletionStatus.SUCCESS, pair.completion());
      MemorySegment copy = arena.allocate(64);
      memory.read(1024 + 8, copy);
      assertEquals("to the device", copy.getString(0));
    }
  }

  @Test
  void deviceMemoryIsLimited() {
    try (SoftPair pair = SoftPair.connected()) {
      long all = pair.a.context.deviceAttributes().maxDeviceMemory();
      try (DeviceMemory memory = pair.a.context.allocateDeviceMemory(all)) {
        assertEquals(all, memory.length());
        assertThrows(VerbsException.class, () -> pair.a.context.allocateDeviceMemory(1));
      }
      pair.a.context.allocateDeviceMemory(all).close();
    }
  }

  @Test
  void memoryThatWasFreedEndsInACompletionStatus() {
    try (SoftPair pair = SoftPair.connected()) {
      Arena mapped = Arena.ofShared();
      MemorySegment large = mapped.allocate(64 << 20, 4096); // The allocator unmaps it when freed.
      MemoryRegion region =
          pair.a.domain.registerMemory(large, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
      long address = large.address();
      SendList list = new SendList(1, 1);
      list.write(0).remote(pair.b.region.start(), pair.b.region.rkey()).signaled();
      list.localUnchecked(0, 0, address, 64, region.lkey());
      mapped.close();
      assertEquals(1, pair.a.queuePair.post(list));
      assertEquals(CompletionStatus.LOC_PROT_ERR, pair.completion());
    }
  }
}
