package dev.verbena.efa;

import static dev.verbena.testing.DeviceKind.EFA;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.testing.Descriptors;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.DmaBuf;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.MemoryRegistration;
import dev.verbena.verbs.SendList;

/**
 * DMA buffers of an EFA. The emulated NIC takes a file in memory for a buffer of another device.
 */
@On(value = EFA, reason = "DmaBufferTest has those of mlx5; a software device has none")
class SrdDmaBufferTest {
  @DeviceTest
  void aPartOfADmaBufferIsWrittenAndRead() {
    try (SrdSide a = new SrdSide(Rig.a());
        SrdSide b = new SrdSide(Rig.b());
        DmaBuf buffer = DmaBuf.of(Descriptors.memoryFile(3 * 4096))) {
      AddressHandle toB = a.handleFor(b);
      AddressHandle _ = b.handleFor(a);
      int qkey = b.address().queueKey();
      MemoryRegion part =
          b.domain
              .dmaBuf(buffer, 4096 + 64, 4096)
              .start(0x7000_0000L + 64)
              .access(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE)
              .register();
      MemoryRegion whole =
          b.domain.dmaBuf(buffer, 0, 8192).access(AccessFlag.REMOTE_READ).register();
      a.memory.memory().setString(0, "to the buffer");
      SendList list = new SendList(1, 1);
      list.write(0)
          .local(a.memory, 0, 64)
          .remote(part.start() + 8, part.rkey())
          .to(toB, b.queuePair.number(), qkey);
      assertEquals(1, a.queuePair.post(list));
      a.expect(CompletionStatus.SUCCESS);
      list.read(0)
          .local(a.memory, 64, 64)
          .remote(whole.start() + 4096 + 72, whole.rkey())
          .to(toB, b.queuePair.number(), qkey);
      assertEquals(1, a.queuePair.post(list));
      a.expect(CompletionStatus.SUCCESS);
      assertEquals("to the buffer", a.memory.memory().getString(64));
      part.close();
      list.write(0)
          .local(a.memory, 0, 64)
          .remote(0x7000_0000L + 72, part.rkey())
          .to(toB, b.queuePair.number(), qkey);
      assertEquals(1, a.queuePair.post(list));
      a.expect(CompletionStatus.REM_ACCESS_ERR);
      MemoryRegistration outside = b.domain.dmaBuf(buffer, 8192, 8192);
      assertEquals(Errno.EINVAL, assertThrows(VerbsException.class, outside::register).errno());
      MemoryRegistration atomic =
          b.domain.dmaBuf(buffer, 0, 64).access(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_ATOMIC);
      assertTrue(assertThrows(VerbsException.class, atomic::register).isUnsupported());
    }
  }
}
