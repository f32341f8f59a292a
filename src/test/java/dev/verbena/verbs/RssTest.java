package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.internal.foreign.Abi;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_rwq_ind_table;
import dev.verbena.raw.ibv_rwq_ind_table_init_attr;
import dev.verbena.raw.ibv_rx_hash_conf;
import dev.verbena.raw.ibv_wq;
import dev.verbena.raw.ibv_wq_attr;
import dev.verbena.raw.ibv_wq_init_attr;
import dev.verbena.raw.rdma_h;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.ReceiveHash;
import dev.verbena.values.ReceiveHashField;
import dev.verbena.values.ReceiveHashFunction;
import dev.verbena.values.WorkQueueFlag;
import dev.verbena.values.WorkQueueState;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Work queues, and the tables and hashes that spread packets over them, against a fake. */
class RssTest extends FakeDeviceFixture {
  public long create_wq(long context, long attributes) {
    attr = copied(attributes, ibv_wq_init_attr.sizeof());
    MemorySegment given = Memory.at(attributes, ibv_wq_init_attr.sizeof());
    ibv_wq_init_attr.max_wr(given, ibv_wq_init_attr.max_wr(given) + 1);
    MemorySegment wq =
        Memory.at(made(ibv_wq.layout(), context), Abi.current().sizeOf(ibv_wq.layout()));
    ibv_wq.wq_num(wq, 5);
    ibv_wq.post_recv(wq, ibv_wq.post_recv.allocate(this::post, arena));
    return wq.address();
  }

  private int post(MemorySegment wq, MemorySegment wr, MemorySegment bad) {
    arguments = new long[] {wq.address(), wr.address()};
    return 0;
  }

  public int modify_wq(long wq, long attributes) {
    attr = copied(attributes, ibv_wq_attr.sizeof());
    if ((ibv_wq_attr.attr_mask(attr) & rdma_h.IBV_WQ_ATTR_STATE()) != 0) {
      ibv_wq.state(Memory.at(wq, ibv_wq.sizeof()), ibv_wq_attr.wq_state(attr));
    }
    return 0;
  }

  public int destroy_wq(long wq) {
    return gone();
  }

  public long create_rwq_ind_table(long context, long attributes) {
    attr = copied(attributes, ibv_rwq_ind_table_init_attr.sizeof());
    int size = 1 << ibv_rwq_ind_table_init_attr.log_ind_tbl_size(attr);
    arguments =
        Memory.at(ibv_rwq_ind_table_init_attr.ind_tbl(attr).address(), 8L * size)
            .toArray(ValueLayout.JAVA_LONG);
    MemorySegment table =
        Memory.at(made(ibv_rwq_ind_table.layout(), context), ibv_rwq_ind_table.sizeof());
    ibv_rwq_ind_table.ind_tbl_num(table, 9);
    return table.address();
  }

  public int destroy_rwq_ind_table(long table) {
    return gone();
  }

  @Test
  void workQueuesReceive() {
    CompletionQueue cq = context.createCompletionQueue(4);
    WorkQueue queue =
        WorkQueue.builder(pd)
            .completions(cq)
            .maxRequests(8)
            .maxSges(2)
            .flags(WorkQueueFlag.CVLAN_STRIPPING, WorkQueueFlag.SCATTER_FCS)
            .create();
    assertEquals(cq.segment().address(), ibv_wq_init_attr.cq(attr).address());
    assertEquals(pd.segment().address(), ibv_wq_init_attr.pd(attr).address());
    assertEquals(3, ibv_wq_init_attr.create_flags(attr));
    assertEquals(9, queue.maxRequests());
    assertEquals(2, queue.maxSges());
    assertEquals(5, queue.number());
    assertSame(WorkQueueState.RESET, queue.state());
    queue.modify(WorkQueueState.RDY);
    assertEquals(rdma_h.IBV_WQ_ATTR_STATE(), ibv_wq_attr.attr_mask(attr));
    assertSame(WorkQueueState.RDY, queue.state());
    assertThrows(IllegalArgumentException.class, () -> queue.modify(WorkQueueState.UNKNOWN));
    queue.modify(Set.of(WorkQueueFlag.DELAY_DROP), Set.of(WorkQueueFlag.CVLAN_STRIPPING));
    assertEquals(rdma_h.IBV_WQ_ATTR_FLAGS(), ibv_wq_attr.attr_mask(attr));
    assertSame(WorkQueueState.RDY, queue.state());
    assertEquals(4, ibv_wq_attr.flags(attr));
    assertEquals(5, ibv_wq_attr.flags_mask(attr));
    assertThrows(
        IllegalArgumentException.class,
        () -> queue.modify(Set.of(WorkQueueFlag.DELAY_DROP), Set.of(WorkQueueFlag.DELAY_DROP)));
    MemoryRegion region = pd.registerMemory(arena.allocate(64), AccessFlag.LOCAL_WRITE);
    ReceiveList list = new ReceiveList(2, 1);
    list.local(0, region, 0, 32);
    list.local(1, region, 32, 32);
    assertEquals(2, queue.post(list));
    assertEquals(queue.segment().address(), arguments[0]);
    assertThrows(IllegalArgumentException.class, () -> queue.post(tooManyEntries(region)));
    queue.close();
    assertThrows(IllegalStateException.class, () -> queue.post(list));
  }

  private static ReceiveList tooManyEntries(MemoryRegion region) {
    ReceiveList list = new ReceiveList(1, 3);
    for (int i = 0; i < 3; i++) {
      list.local(0, i, region, 0, 1);
    }
    return list;
  }

  @Test
  void tablesSpreadOverQueues() {
    CompletionQueue cq = context.createCompletionQueue(4);
    WorkQueue first = WorkQueue.builder(pd).completions(cq).create();
    WorkQueue second = WorkQueue.builder(pd).completions(cq).create();
    ReceiveIndirectionTable table =
        ReceiveIndirectionTable.create(context, List.of(first, second, first, first));
    long a = first.segment().address();
    long b = second.segment().address();
    assertArrayEquals(new long[] {a, b, a, a}, arguments);
    assertEquals(2, ibv_rwq_ind_table_init_attr.log_ind_tbl_size(attr));
    assertEquals(9, table.number());
    assertThrows(
        IllegalArgumentException.class,
        () -> ReceiveIndirectionTable.create(context, List.of(first, second, first)));
    second.close();
    assertFalse(table.isOpen());
  }

  @Test
  void hashesAreWritten() {
    byte[] key = new byte[40];
    key[39] = 7;
    ReceiveHash hash =
        new ReceiveHash(
            ReceiveHashFunction.TOEPLITZ,
            key,
            Set.of(ReceiveHashField.SRC_IPV4, ReceiveHashField.DST_IPV4));
    MemorySegment conf = ibv_rx_hash_conf.allocate(arena);
    hash.writeTo(conf, arena);
    assertEquals(1, ibv_rx_hash_conf.rx_hash_function(conf));
    assertEquals(40, ibv_rx_hash_conf.rx_hash_key_len(conf));
    assertEquals(3, ibv_rx_hash_conf.rx_hash_fields_mask(conf));
    assertEquals(
        7, ibv_rx_hash_conf.rx_hash_key(conf).reinterpret(40).get(ValueLayout.JAVA_BYTE, 39));
    assertThrows(
        IllegalArgumentException.class,
        () -> new ReceiveHash(ReceiveHashFunction.TOEPLITZ, new byte[256], Set.of()));
  }
}
