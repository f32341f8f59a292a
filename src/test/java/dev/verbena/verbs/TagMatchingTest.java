package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.SOFT_ROCE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_ops_wr;
import dev.verbena.raw.ibv_sge;
import dev.verbena.raw.ibv_srq;
import dev.verbena.raw.ibv_srq_init_attr_ex;
import dev.verbena.raw.ibv_tm_cap;
import dev.verbena.raw.rdma_h;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.SharedReceiveQueueType;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tag matching, as rdma-core's test_tag_matching.py tests it, against a fake. */
class TagMatchingTest extends FakeDeviceFixture {
  private static final int HANDLE = 40;

  private final List<MemorySegment> posted = new ArrayList<>();
  private int room = Integer.MAX_VALUE;
  private int refusal = Errno.ENOMEM;
  private boolean namesRefused = true;

  public long create_srq_ex(long context, long attributes) {
    attr = copied(attributes, ibv_srq_init_attr_ex.sizeof());
    return made(ibv_srq.layout(), context);
  }

  public long ibv_create_srq(long pd, long attributes) {
    return made(ibv_srq.layout(), Memory.getLong(pd));
  }

  public void ibv_destroy_srq(long srq) {
    gone();
  }

  public int post_srq_ops(long srq, long first, long bad) {
    for (long at = first; at != 0; ) {
      MemorySegment operation = Memory.at(at, ibv_ops_wr.sizeof());
      if (posted.size() == room) {
        if (namesRefused) {
          Memory.putLong(bad, at);
        }
        return refusal;
      }
      if (ibv_ops_wr.opcode(operation) == rdma_h.IBV_WR_TAG_ADD()) {
        ibv_ops_wr.tm.handle(ibv_ops_wr.tm(operation), HANDLE + posted.size());
      }
      posted.add(copied(at, ibv_ops_wr.sizeof()));
      at = ibv_ops_wr.next(operation).address();
    }
    return 0;
  }

  private SharedReceiveQueue queue() {
    CompletionQueue completions = context.createCompletionQueue(4);
    return SharedReceiveQueue.builder(pd, 8)
        .maxSges(2)
        .tagMatching(completions)
        .maxTags(16)
        .maxTagOperations(4)
        .create();
  }

  @Test
  void theQueueIsMadeForTags() {
    try (SharedReceiveQueue queue = queue()) {
      assertEquals(SharedReceiveQueueType.TM, queue.type());
      assertEquals(rdma_h.IBV_SRQT_TM(), ibv_srq_init_attr_ex.srq_type(attr));
      assertEquals(16, ibv_tm_cap.max_num_tags(ibv_srq_init_attr_ex.tm_cap(attr)));
      assertEquals(4, ibv_tm_cap.max_ops(ibv_srq_init_attr_ex.tm_cap(attr)));
    }
  }

  @Test
  void everyOperationHasItsFields() {
    SharedReceiveQueue queue = queue();
    MemoryRegion region = pd.registerMemory(arena.allocate(64), AccessFlag.LOCAL_WRITE);
    TagOperations operations = new TagOperations(3, 2);
    operations.add(0, 0x1234_5678_9abc_def0L, -1, 7);
    operations.local(0, region, 8, 16);
    operations.local(0, region, 32, 4);
    operations.signaled(0, 70);
    operations.unexpected(0, 5);
    operations.delete(1, 99);
    operations.synchronize(2, 6);
    assertEquals(3, queue.post(operations));
    assertEquals(HANDLE, operations.handle(0));

    MemorySegment added = posted.getFirst();
    assertEquals(rdma_h.IBV_WR_TAG_ADD(), ibv_ops_wr.opcode(added));
    assertEquals(70, ibv_ops_wr.wr_id(added));
    assertEquals(rdma_h.IBV_OPS_SIGNALED() | rdma_h.IBV_OPS_TM_SYNC(), ibv_ops_wr.flags(added));
    assertEquals(5, ibv_ops_wr.tm.unexpected_cnt(ibv_ops_wr.tm(added)));
    MemorySegment add = ibv_ops_wr.tm.add(ibv_ops_wr.tm(added));
    assertEquals(0x1234_5678_9abc_def0L, ibv_ops_wr.tm.add.tag(add));
    assertEquals(-1, ibv_ops_wr.tm.add.mask(add));
    assertEquals(7, ibv_ops_wr.tm.add.recv_wr_id(add));
    assertEquals(2, ibv_ops_wr.tm.add.num_sge(add));
    MemorySegment entries =
        Memory.at(ibv_ops_wr.tm.add.sg_list(add).address(), 2 * ibv_sge.sizeof());
    assertEquals(region.start() + 8, ibv_sge.addr(entries));
    assertEquals(16, ibv_sge.length(entries));
    assertEquals(region.lkey(), ibv_sge.lkey(entries));
    assertEquals(region.start() + 32, ibv_sge.addr(ibv_sge.asSlice(entries, 1)));

    MemorySegment deleted = posted.get(1);
    assertEquals(rdma_h.IBV_WR_TAG_DEL(), ibv_ops_wr.opcode(deleted));
    assertEquals(99, ibv_ops_wr.tm.handle(ibv_ops_wr.tm(deleted)));
    assertEquals(0, ibv_ops_wr.flags(deleted));

    MemorySegment synchronised = posted.get(2);
    assertEquals(rdma_h.IBV_WR_TAG_SYNC(), ibv_ops_wr.opcode(synchronised));
    assertEquals(rdma_h.IBV_OPS_TM_SYNC(), ibv_ops_wr.flags(synchronised));
    assertEquals(6, ibv_ops_wr.tm.unexpected_cnt(ibv_ops_wr.tm(synchronised)));
  }

  @Test
  void staleFieldsAreCleared() {
    TagOperations operations = new TagOperations(1, 1);
    operations.add(0, -1, -1, -1);
    operations.signaled(0, -1);
    operations.delete(0, 3);
    assertEquals(operations.size(), queue().post(operations));
    MemorySegment deleted = posted.getFirst();
    assertEquals(0, ibv_ops_wr.wr_id(deleted));
    assertEquals(0, ibv_ops_wr.flags(deleted));
    assertEquals(0, ibv_ops_wr.tm.add.tag(ibv_ops_wr.tm.add(ibv_ops_wr.tm(deleted))));
  }

  @Test
  void fullQueueIsNoErrorButOtherFailuresThrow() {
    SharedReceiveQueue queue = queue();
    TagOperations operations = new TagOperations(3, 0);
    for (int i = 0; i < 3; i++) {
      operations.synchronize(i, i);
    }
    room = 2;
    assertEquals(2, queue.post(operations));
    refusal = Errno.EINVAL;
    VerbsException e = assertThrows(VerbsException.class, () -> queue.post(operations));
    assertEquals("ibv_post_srq_ops", e.function());
    assertEquals(Errno.EINVAL, e.errno());
    assertTrue(e.getMessage().contains("tag operation 0"), e.getMessage());
  }

  @Test
  void aNegativeErrnoMeansTheSame() {
    TagOperations operations = new TagOperations(2, 0);
    operations.synchronize(0, 0);
    operations.synchronize(1, 1);
    room = 1;
    refusal = -Errno.ENOMEM;
    assertEquals(1, queue().post(operations));
  }

  @Test
  void failureOfAnUnknownOperationThrows() {
    SharedReceiveQueue queue = queue();
    TagOperations operations = new TagOperations(2, 0);
    operations.synchronize(0, 0);
    operations.synchronize(1, 1);
    room = 1;
    assertEquals(1, queue.post(operations));
    room = 1 + posted.size();
    namesRefused = false; // Nor may it be taken for the one that was refused before.
    VerbsException e = assertThrows(VerbsException.class, () -> queue.post(operations));
    assertEquals(Errno.ENOMEM, e.errno());
    assertTrue(e.getMessage().contains("bad_wr does not tell which of the 2"), e.getMessage());
  }

  @Test
  void moreEntriesThanTheQueueTakesAreSeenBeforeC() {
    SharedReceiveQueue queue = queue();
    MemoryRegion region = pd.registerMemory(arena.allocate(64), AccessFlag.LOCAL_WRITE);
    TagOperations operations = new TagOperations(1, 3);
    operations.add(0, 1, -1, 1);
    for (int entry = 0; entry < 3; entry++) {
      operations.local(0, region, 8L * entry, 8);
    }
    var e = assertThrows(IllegalArgumentException.class, () -> queue.post(operations));
    assertTrue(e.getMessage().contains("3 SGEs"), e.getMessage());
    assertTrue(posted.isEmpty());
    assertThrows(IllegalArgumentException.class, () -> new TagOperations(1 << 16, 1 << 16));
  }

  @Test
  void invalidOperationsThrow() {
    SharedReceiveQueue queue = queue();
    MemoryRegion region = pd.registerMemory(arena.allocate(64), AccessFlag.LOCAL_WRITE);
    TagOperations operations = new TagOperations(1, 1);
    assertThrows(IllegalStateException.class, () -> queue.post(operations));
    assertThrows(IllegalStateException.class, () -> operations.signaled(0, 1));
    assertThrows(IllegalStateException.class, () -> operations.local(0, region, 0, 8));
    assertThrows(IndexOutOfBoundsException.class, () -> operations.delete(1, 0));
    operations.add(0, 1, -1, 1);
    assertThrows(IndexOutOfBoundsException.class, () -> operations.local(0, region, 60, 8));
    MemoryRegion unlimited = pd.allocateNullRegion();
    assertThrows(IllegalArgumentException.class, () -> operations.local(0, unlimited, 0, 1L << 32));
    operations.local(0, region, 0, 8);
    assertThrows(IndexOutOfBoundsException.class, () -> operations.local(0, region, 8, 8));
    SharedReceiveQueue plain = SharedReceiveQueue.builder(pd, 8).create();
    assertThrows(IllegalStateException.class, () -> plain.post(operations));
    ProtectionDomain other = context.allocateProtectionDomain();
    MemoryRegion foreign = other.registerMemory(arena.allocate(64), AccessFlag.LOCAL_WRITE);
    operations.add(0, 1, -1, 1);
    operations.local(0, foreign, 0, 8);
    assertThrows(IllegalArgumentException.class, () -> queue.post(operations));
    foreign.close();
    assertThrows(IllegalStateException.class, () -> queue.post(operations));
    MemoryRegion readable = pd.registerMemory(arena.allocate(64));
    operations.add(0, 1, -1, 1);
    operations.local(0, readable, 0, 8);
    assertThrows(IllegalArgumentException.class, () -> queue.post(operations));
    queue.close();
    assertThrows(IllegalStateException.class, () -> queue.post(operations));
    assertThrows(IllegalArgumentException.class, () -> new TagOperations(0, 1));
    assertTrue(posted.isEmpty());
  }

  @DeviceTest
  @On(SOFT_ROCE)
  void softRoceHasNoTagMatching() {
    try (Context real = Rig.a().open()) {
      assertEquals(0, real.deviceAttributes().tagMatching().maxTags());
      ProtectionDomain domain = real.allocateProtectionDomain();
      CompletionQueue completions = real.createCompletionQueue(4);
      Refusal.of(
          () ->
              SharedReceiveQueue.builder(domain, 8)
                  .tagMatching(completions)
                  .maxTags(16)
                  .maxTagOperations(4)
                  .create(),
          "TM",
          "not supported");
    }
  }
}
