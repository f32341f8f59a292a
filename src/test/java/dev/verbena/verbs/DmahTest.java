package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.DeviceKind.SOFT_ROCE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.raw.ibv_dmah;
import dev.verbena.raw.ibv_dmah_init_attr;
import dev.verbena.raw.ibv_mr_init_attr;
import dev.verbena.raw.rdma_h;
import dev.verbena.testing.Descriptors;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/**
 * DMA handles, as rdma-core's test_dmah.py tests them: on a fake, on the emulated NIC with a new
 * libmlx5, and on Soft-RoCE, which has none.
 */
class DmahTest extends FakeDeviceFixture {
  public long ibv_alloc_dmah(long context, long attributes) {
    attr = copied(attributes, ibv_dmah_init_attr.sizeof());
    return made(ibv_dmah.layout(), context);
  }

  public void ibv_dealloc_dmah(long dmah) {
    gone();
  }

  public long ibv_reg_mr_ex(long pd, long attributes) {
    attr = copied(attributes, ibv_mr_init_attr.sizeof());
    return region(pd, ibv_mr_init_attr.length(attr));
  }

  public void ibv_dereg_mr(long mr) {
    gone();
  }

  @Test
  void dmaHandlesGoIntoRegistrations() {
    DmaHandle handle =
        DmaHandle.builder(context)
            .cpu(3)
            .processingHint(2)
            .memoryType(DmaHandle.MemoryType.PM)
            .create();
    assertEquals(7, ibv_dmah_init_attr.comp_mask(attr));
    assertEquals(3, ibv_dmah_init_attr.cpu_id(attr));
    assertEquals(2, ibv_dmah_init_attr.ph(attr));
    assertEquals(1, ibv_dmah_init_attr.tph_mem_type(attr));
    MemorySegment memory = arena.allocate(64);
    MemoryRegion region = pd.memory(memory).dmaHandle(handle).start(0x40).register();
    assertEquals(memory.address(), ibv_mr_init_attr.addr(attr).address());
    assertEquals(0x40, ibv_mr_init_attr.iova(attr));
    assertEquals(handle.segment().address(), ibv_mr_init_attr.dmah(attr).address());
    assertEquals(
        rdma_h.IBV_REG_MR_MASK_DMAH()
            | rdma_h.IBV_REG_MR_MASK_ADDR()
            | rdma_h.IBV_REG_MR_MASK_IOVA(),
        ibv_mr_init_attr.comp_mask(attr));
    try (Context other = context.device().open();
        ProtectionDomain foreign = other.allocateProtectionDomain()) {
      MemoryRegistration registration = foreign.memory(memory);
      assertThrows(IllegalArgumentException.class, () -> registration.dmaHandle(handle));
    }
    pd.dmaBuf(DmaBuf.of(4), 8, 16).dmaHandle(handle).register();
    assertEquals(4, ibv_mr_init_attr.fd(attr));
    assertEquals(8, ibv_mr_init_attr.fd_offset(attr));
    assertEquals(
        rdma_h.IBV_REG_MR_MASK_DMAH()
            | rdma_h.IBV_REG_MR_MASK_FD()
            | rdma_h.IBV_REG_MR_MASK_FD_OFFSET()
            | rdma_h.IBV_REG_MR_MASK_IOVA(),
        ibv_mr_init_attr.comp_mask(attr));
    handle.close();
    assertFalse(region.isOpen());
  }

  @DeviceTest
  @On(MLX5)
  void peersUseMemoryThatIsRegisteredWithAHandle() {
    try (Pair pair = Pair.connected(QueuePairType.RC);
        DmaBuf buffer = DmaBuf.of(Descriptors.memoryFile(4096))) {
      DmaHandle handle =
          Rig.orSkip(
              () ->
                  DmaHandle.builder(pair.b.context)
                      .cpu(thisCpu())
                      .memoryType(DmaHandle.MemoryType.VM)
                      .processingHint(2)
                      .create());
      MemoryRegion page =
          pair.b.page(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE).dmaHandle(handle).register();
      DmaHandle hint = DmaHandle.builder(pair.b.context).processingHint(0).create();
      MemoryRegion part =
          pair.b
              .domain
              .dmaBuf(buffer, 64, 64)
              .start(0x10040)
              .access(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ)
              .dmaHandle(hint)
              .register();
      pair.a.memory.memory().setString(0, "with a hint");
      SendList list = new SendList(3, 1);
      list.write(0).local(pair.a.memory, 0, 16).remote(page.start() + 8, page.rkey());
      list.write(1).local(pair.a.memory, 0, 16).remote(part.start() + 8, part.rkey());
      list.read(2).local(pair.a.memory, 64, 16).remote(part.start() + 8, part.rkey()).signaled();
      pair.a.run(list);
      assertEquals("with a hint", page.memory().getString(8));
      assertEquals("with a hint", pair.a.memory.memory().getString(64));
      assertError(Errno.EBUSY, () -> pair.b.context.verbs().ibv_dealloc_dmah(hint.address()));
      hint.close();
      assertFalse(part.isOpen(), "closed before its handle");
      handle.close();
      assertFalse(page.isOpen());
    }
  }

  @DeviceTest
  @On(MLX5)
  void messagesAndAtomicsUseMemoryThatIsRegisteredWithAHandle() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      DmaHandle handle =
          Rig.orSkip(() -> DmaHandle.builder(pair.b.context).processingHint(1).create());
      MemoryRegion page =
          pair.b
              .page(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC)
              .dmaHandle(handle)
              .register();
      pair.a.memory.memory().setString(0, "of the peer");
      page.memory().set(ValueLayout.JAVA_LONG, 64, 40);
      pair.b.receive(1, page);
      SendList list = new SendList(2, 1);
      list.send(0).local(pair.a.memory, 0, 16);
      list.fetchAndAdd(1, 2)
          .local(pair.a.memory, 64, 8)
          .remote(page.start() + 64, page.rkey())
          .signaled();
      pair.a.run(list);
      assertEquals(16, pair.b.completion(CompletionStatus.SUCCESS).byteLength(0));
      assertEquals("of the peer", page.memory().getString(0));
      assertEquals(40, pair.a.memory.memory().get(ValueLayout.JAVA_LONG, 64));
      assertEquals(42, page.memory().get(ValueLayout.JAVA_LONG, 64));
    }
  }

  @DeviceTest
  @On(MLX5)
  void handlesNeedAHintAndAProcessorWithItsMemoryType() {
    try (Context context = Rig.a().open()) {
      Rig.orSkip(() -> DmaHandle.builder(context).processingHint(3).create());
      int cpu = thisCpu();
      assertError(
          Errno.EINVAL,
          DmaHandle.builder(context).cpu(cpu).memoryType(DmaHandle.MemoryType.VM)::create);
      assertError(Errno.EINVAL, DmaHandle.builder(context).processingHint(1).cpu(cpu)::create);
      assertError(
          Errno.EINVAL,
          DmaHandle.builder(context)
                  .processingHint(1)
                  .memoryType(DmaHandle.MemoryType.PM)
                  .cpu(1_000_000)
              ::create);
    }
  }

  private static void assertError(int errno, Executable call) {
    assertEquals(errno, assertThrows(VerbsException.class, call).errno());
  }

  /** A processor on which this thread may run. */
  private static int thisCpu() {
    Linker linker = Linker.nativeLinker();
    try {
      return (int)
          linker
              .downcallHandle(
                  linker.defaultLookup().find("sched_getcpu").orElseThrow(),
                  FunctionDescriptor.of(ValueLayout.JAVA_INT))
              .invokeExact();
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  @DeviceTest
  @On(SOFT_ROCE)
  void softRoceHasNoDmaHandles() {
    try (Context context = Rig.a().open()) {
      DmaHandle.Builder builder = DmaHandle.builder(context);
      assertThrows(IllegalArgumentException.class, () -> builder.cpu(-1));
      assertThrows(IllegalArgumentException.class, () -> builder.processingHint(4));
      builder.cpu(0).processingHint(1).memoryType(DmaHandle.MemoryType.VM);
      Refusal.of(builder::create);
    }
  }
}
