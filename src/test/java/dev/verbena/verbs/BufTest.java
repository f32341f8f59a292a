package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.MemorySegment;

/** Buffers of the provider, where rdma-core is new enough for them. */
class BufTest {
  @DeviceTest
  void aBufferIsMemoryThatCanBeRegistered() {
    try (Loop loop = new Loop()) {
      ProviderBuffer buffer = Rig.orSkip(() -> ProviderBuffer.allocate(loop.pd, 8192));
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
  void invalidSizesThrow() {
    try (Context context = Rig.a().open()) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      assertThrows(IllegalArgumentException.class, () -> ProviderBuffer.allocate(pd, 0));
    }
  }

  @DeviceTest
  void oneBufferHasManyRegions() {
    try (Loop loop = new Loop()) {
      ProviderBuffer buffer = Rig.orSkip(() -> ProviderBuffer.allocate(loop.pd, 2 * Loop.SIZE));
      MemoryRegion first = buffer.register(0, Loop.SIZE, AccessFlag.LOCAL_WRITE);
      MemoryRegion second =
          buffer
              .registration(Loop.SIZE, Loop.SIZE)
              .access(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE)
              .register();
      assertNotEquals(first.lkey(), second.lkey());
      assertEquals(first.start() + Loop.SIZE, second.start());
      first.memory().setString(0, "through the first");
      SendList write = new SendList(1, 1);
      write.write(0).local(first, 0, 64).remote(second.start(), second.rkey()).signaled();
      assertEquals(1, loop.qp.post(write));
      loop.complete(1);
      Await.until(
          "the data of the write", () -> second.memory().getString(0).equals("through the first"));
      buffer.close();
      assertFalse(second.isOpen(), "closed before its buffer");
    }
  }

  @DeviceTest
  void aBufferCarriesMessages() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      MemoryRegion from =
          Rig.orSkip(() -> ProviderBuffer.allocate(pair.a.domain, Loop.SIZE)).register();
      ProviderBuffer target = Rig.orSkip(() -> ProviderBuffer.allocate(pair.b.domain, Loop.SIZE));
      MemoryRegion to = target.register(AccessFlag.LOCAL_WRITE);
      SendList list = new SendList(1, 1);
      list.send(0).local(from, 0, Loop.SIZE).signaled();
      for (int i = 1; i <= 5; i++) {
        from.memory().fill((byte) i);
        pair.b.receive(i, to);
        pair.a.run(list);
        pair.b.completion(CompletionStatus.SUCCESS);
        assertEquals(-1, from.memory().mismatch(to.memory()));
      }
    }
  }

  @DeviceTest
  void aBufferIsRegisteredInItsOwnDomainAlone() {
    try (Loop loop = new Loop()) {
      ProviderBuffer buffer = Rig.orSkip(() -> ProviderBuffer.allocate(loop.pd, Loop.SIZE));
      long other = loop.context.allocateProtectionDomain().segment().address();
      long memory = buffer.memory().address();
      var thrown =
          assertThrows(
              VerbsException.class,
              () ->
                  loop.pd.verbs().ibv_reg_buf_mr(other, buffer.segment().address(), memory, 64, 0));
      assertEquals(Errno.EINVAL, thrown.errno());
    }
  }
}
