package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.attributes.DeviceCapability;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.junit.jupiter.api.Assumptions;

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
  @On(value = SOFTWARE, reason = "the emulated NIC does not look at the flag")
  void peersCountFromTheStartOfAZeroBasedPart() {
    try (Loop loop = new Loop()) {
      ProviderBuffer buffer = ProviderBuffer.allocate(loop.pd, 2 * Loop.SIZE);
      AccessFlag[] access = {
        AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.ZERO_BASED
      };
      for (MemoryRegion part :
          List.of(
              buffer.register(Loop.SIZE, Loop.SIZE, access),
              buffer.registration(Loop.SIZE, Loop.SIZE).access(access).register())) {
        assertEquals(0, part.start());
        buffer.memory().fill((byte) 0);
        loop.region.memory().setString(0, "from the start");
        SendList write = new SendList(1, 1);
        write.write(0).local(loop.region, 0, 16).remote(24, part.rkey()).signaled();
        assertEquals(1, loop.qp.post(write));
        loop.complete(1);
        Await.until(
            "the data of the write",
            () -> buffer.memory().getString(Loop.SIZE + 24).equals("from the start"));
      }
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

  /** The third device of the emulated NIC is that of a confidential virtual machine. */
  @DeviceTest
  @On(MLX5)
  void aBufferOfAConfidentialMachineIsShared() {
    try (Context context = confidential();
        Arena arena = Arena.ofConfined()) {
      ProtectionDomain base = context.allocateProtectionDomain();
      var refused =
          assertThrows(VerbsException.class, () -> base.registerMemory(arena.allocate(64)));
      assertTrue(refused.isUnsupported(), refused::getMessage);
      assertThrows(VerbsException.class, () -> context.createCompletionQueue(4));
      ProtectionDomain shared = ParentDomain.builder(base).allowUnprotectedMemory().create();
      ProviderBuffer buffer = ProviderBuffer.allocate(shared, 8192);
      buffer.memory().setString(4096, "shared with the host");
      MemoryRegion region = buffer.register(AccessFlag.LOCAL_WRITE);
      CompletionQueue cq = context.completionQueue(16).parentDomain(shared).create();
      QueuePairBuilder builder =
          QueuePair.builder(shared, QueuePairType.RC)
              .completions(cq)
              .capacity(QueuePairCapacity.of(4));
      QueuePair a = builder.create();
      QueuePair b = builder.create();
      a.connect(b.localAddress());
      b.connect(a.localAddress());
      try (DmaBuf exported = buffer.exportDmaBuf()) {
        MemoryRegion again =
            shared
                .dmaBuf(exported, 4096, 4096)
                .access(AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.LOCAL_WRITE)
                .register();
        SendList list = new SendList(2, 1);
        list.read(0).local(region, 100, 32).remote(again.start(), again.rkey());
        list.write(1).local(region, 100, 32).remote(again.start() + 512, again.rkey()).signaled();
        assertEquals(2, a.post(list));
        Pair.completion(cq, CompletionStatus.SUCCESS);
        assertEquals("shared with the host", buffer.memory().getString(100));
        assertEquals("shared with the host", buffer.memory().getString(4096 + 512));
      }
      shared.close();
      assertFalse(buffer.isOpen());
    }
  }

  private static Context confidential() {
    for (Device device : Device.list()) {
      Context context = device.open();
      if (context.deviceAttributes().capabilities().contains(DeviceCapability.CC_DMA_BOUNCE)) {
        return context;
      }
      context.close();
    }
    return Assumptions.abort("no device of a confidential machine, which needs rdma-core 65");
  }
}
