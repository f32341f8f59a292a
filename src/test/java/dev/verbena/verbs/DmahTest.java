package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.DeviceKind.SOFT_ROCE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.raw.ibv_dmah;
import dev.verbena.raw.ibv_dmah_init_attr;
import dev.verbena.raw.ibv_mr_init_attr;
import dev.verbena.raw.rdma_h;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

/**
 * DMA handles, as rdma-core's test_dmah.py tests them: on a fake, and on Soft-RoCE, which has none.
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
  @On({SOFT_ROCE, MLX5})
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
