package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.NativeFlag;
import dev.verbena.raw.ibv_cq_init_attr_ex;
import dev.verbena.raw.ibv_moderate_cq;
import dev.verbena.raw.ibv_modify_cq_attr;
import dev.verbena.raw.rdma_h;
import dev.verbena.values.CompletionField;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** What completion queues can be asked for, as C gets it. */
class CqChoicesTest extends FakeDeviceFixture {
  public int modify_cq(long cq, long attributes) {
    attr = copied(attributes, ibv_modify_cq_attr.sizeof());
    return 0;
  }

  public long create_cq_ex(long context, long attributes) {
    attr = copied(attributes, ibv_cq_init_attr_ex.sizeof());
    return provider.verbs().ibv_create_cq(context, ibv_cq_init_attr_ex.cqe(attr), 0, 0, 0);
  }

  @Test
  void completionQueuesAreModeratedAndFlagged() {
    CompletionQueue cq =
        context.completionQueue(4).singleThreaded().ignoreOverrun().vector(0).create();
    assertEquals(3, ibv_cq_init_attr_ex.flags(attr));
    assertEquals(1, ibv_cq_init_attr_ex.comp_mask(attr));
    assertEquals(4, ibv_cq_init_attr_ex.cqe(attr));
    cq.moderate(0xffff, Duration.ofNanos(65_535_000));
    MemorySegment moderate = ibv_modify_cq_attr.moderate(attr);
    assertEquals(1, ibv_modify_cq_attr.attr_mask(attr));
    assertEquals(-1, ibv_moderate_cq.cq_count(moderate));
    assertEquals(-1, ibv_moderate_cq.cq_period(moderate));
  }

  @Test
  void everyFieldHasItsFlag() {
    long all = NativeFlag.mask(CompletionField.values());
    assertEquals(rdma_h.IBV_CREATE_CQ_SUP_WC_FLAGS(), all);
    assertEquals(CompletionField.values().length, Long.bitCount(all));
  }
}
