package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Rig;
import java.lang.foreign.MemorySegment;

/** Buffers of the provider, where rdma-core is new enough for them. */
class BufTest {
  @DeviceTest
  void aBufferIsMemoryThatCanBeRegistered() {
    try (Loop loop = new Loop()) {
      ProviderBuffer buffer = Rig.orSkip(() -> loop.pd.allocateBuffer(8192));
      MemorySegment memory = buffer.memory();
      assertEquals(8192, memory.byteSize());
      memory.setString(4096, "of the provider");
      MemoryRegion part = buffer.register(4096, 4096, AccessFlag.REMOTE_READ);
      SendList read = new SendList(1, 1);
      read.read(0).local(loop.region, 0, 64).remote(part.start(), part.rkey()).signaled();
      assertEquals(1, loop.qp.post(read));
      loop.complete(1);
      assertEquals("of the provider", loop.region.memory().getString(0));
      MemoryRegion all = buffer.register(AccessFlag.LOCAL_WRITE);
      assertEquals(8192, all.length());
      assertThrows(IndexOutOfBoundsException.class, () -> buffer.register(4096, 4097));
      assertThrows(IllegalArgumentException.class, () -> buffer.register(AccessFlag.REMOTE_WRITE));
      var thrown = assertThrows(VerbsException.class, buffer::exportDmaBuf);
      assertEquals(Errno.ENODATA, thrown.errno(), thrown.getMessage());
      buffer.close();
      assertFalse(part.isOpen());
      assertThrows(IllegalStateException.class, buffer::memory);
      assertThrows(IllegalStateException.class, () -> memory.getString(0));
    }
  }

  @DeviceTest
  void badSizesAreRefused() {
    try (Context context = Rig.a().open()) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      assertThrows(IllegalArgumentException.class, () -> pd.allocateBuffer(0));
    }
  }
}
