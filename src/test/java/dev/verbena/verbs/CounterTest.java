package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.DeviceKind.SOFT_ROCE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.flow.EspTransform;
import dev.verbena.flow.FlowAction;
import dev.verbena.flow.FlowCounters;
import dev.verbena.flow.FlowMatch;
import dev.verbena.flow.FlowRule;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_comp_cntr;
import dev.verbena.raw.ibv_comp_cntr_caps;
import dev.verbena.raw.ibv_counter_attach_attr;
import dev.verbena.raw.ibv_counters;
import dev.verbena.raw.ibv_flow;
import dev.verbena.raw.ibv_qp_attach_comp_cntr_attr;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.WorkQueueFlag;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Counters of flows and of completions: on a fake, and on Soft-RoCE, which has none. */
class CounterTest extends FakeDeviceFixture {
  private long counter;
  private long errors;

  public long create_counters(long context, long attributes) {
    return made(ibv_counters.layout(), context);
  }

  public int destroy_counters(long counters) {
    return gone();
  }

  public int attach_counters_point_flow(long counters, long attributes, long flow) {
    attr = copied(attributes, ibv_counter_attach_attr.sizeof());
    arguments = new long[] {flow};
    return 0;
  }

  public int read_counters(long counters, long values, int count, int flags) {
    arguments = new long[] {flags};
    for (int i = 0; i < count; i++) {
      Memory.putLong(values + 8L * i, 100 + i);
    }
    return 0;
  }

  public long ibv_create_flow(long queuePair, long attributes) {
    MemorySegment flow = Memory.at(made(ibv_flow.layout(), 0), ibv_flow.sizeof());
    ibv_flow.context(flow, context.segment());
    return flow.address();
  }

  public int ibv_destroy_flow(long flow) {
    return gone();
  }

  public long ibv_create_comp_cntr(long context, long attributes) {
    return made(ibv_comp_cntr.layout(), context);
  }

  public void ibv_destroy_comp_cntr(long cntr) {
    gone();
  }

  public void ibv_set_comp_cntr(long cntr, long value) {
    counter = value;
  }

  public void ibv_set_err_comp_cntr(long cntr, long value) {
    errors = value;
  }

  public void ibv_inc_comp_cntr(long cntr, long amount) {
    counter += amount;
  }

  public void ibv_inc_err_comp_cntr(long cntr, long amount) {
    errors += amount;
  }

  public void ibv_read_comp_cntr(long cntr, long value) {
    Memory.putLong(value, counter);
  }

  public void ibv_read_err_comp_cntr(long cntr, long value) {
    Memory.putLong(value, errors);
  }

  public void ibv_qp_attach_comp_cntr(long qp, long cntr, long attributes) {
    attr = copied(attributes, ibv_qp_attach_comp_cntr_attr.sizeof());
  }

  public void _ibv_query_comp_cntr_caps(long context, long caps, long size) {
    MemorySegment struct = Memory.at(caps, size);
    ibv_comp_cntr_caps.max_value(struct, -1);
    ibv_comp_cntr_caps.max_counters(struct, 8);
    ibv_comp_cntr_caps.supported_qp_attach_ops(struct, 0b100001);
  }

  @Test
  void countersAreThoseOfRulesOfTheirContext() {
    QueuePair queuePair =
        QueuePair.builder(pd, QueuePairType.RAW_PACKET)
            .completions(context.createCompletionQueue(4))
            .create();
    FlowRule rule = FlowRule.on(queuePair, 1).match(FlowMatch.ethernet()).create();
    FlowCounters.on(context).attach(FlowCounters.Counted.PACKETS, 2, rule);
    assertEquals(0, ibv_counter_attach_attr.counter_desc(attr));
    assertEquals(2, ibv_counter_attach_attr.index(attr));
    assertArrayEquals(new long[] {rule.segment().address()}, arguments);
    try (Context other = context.device().open();
        FlowCounters foreign = FlowCounters.on(other)) {
      FlowRule.Builder counting = FlowRule.on(queuePair, 1);
      assertThrows(IllegalArgumentException.class, () -> counting.count(foreign));
      assertThrows(
          IllegalArgumentException.class,
          () -> foreign.attach(FlowCounters.Counted.PACKETS, 2, rule));
    }
  }

  @Test
  void flowCountersAreAttachedAndRead() {
    FlowCounters counters = FlowCounters.on(context);
    counters.attach(FlowCounters.Counted.BYTES, 1);
    assertEquals(1, ibv_counter_attach_attr.counter_desc(attr));
    assertEquals(1, ibv_counter_attach_attr.index(attr));
    assertArrayEquals(new long[] {0}, arguments);
    assertArrayEquals(new long[] {100, 101}, counters.read(2));
    assertArrayEquals(new long[] {0}, arguments);
    assertArrayEquals(new long[] {100}, counters.readCached(1));
    assertArrayEquals(new long[] {1}, arguments);
    assertThrows(IllegalArgumentException.class, () -> counters.read(0));
    var tooMany =
        assertThrows(IllegalArgumentException.class, () -> counters.read(Integer.MAX_VALUE));
    assertEquals("number of counters must be 1 to 8191: 2147483647", tooMany.getMessage());
    assertThrows(
        IllegalArgumentException.class, () -> counters.attach(FlowCounters.Counted.PACKETS, -1));
  }

  @Test
  void completionCountersCount() {
    var caps = CompletionCounter.capabilities(context);
    assertEquals(8, caps.maxCounters());
    assertEquals(
        Set.of(CompletionCounter.Operation.SEND, CompletionCounter.Operation.REMOTE_RDMA_WRITE),
        caps.operations());
    CompletionCounter counter = CompletionCounter.create(context, CompletionCounter.Type.BYTES);
    assertSame(CompletionCounter.Type.BYTES, counter.type());
    counter.value(10);
    counter.add(5);
    counter.errors(1);
    counter.addErrors(2);
    assertEquals(15, counter.value());
    assertEquals(3, counter.errors());
    CompletionQueue cq = context.createCompletionQueue(2);
    QueuePair qp = QueuePair.builder(pd, QueuePairType.RC).completions(cq).create();
    counter.attach(qp, CompletionCounter.Operation.SEND, CompletionCounter.Operation.RECV);
    assertEquals(3, ibv_qp_attach_comp_cntr_attr.op_mask(attr));
    try (Context other = context.device().open()) {
      CompletionCounter foreign = CompletionCounter.create(other, CompletionCounter.Type.WRS);
      assertThrows(
          IllegalArgumentException.class,
          () -> foreign.attach(qp, CompletionCounter.Operation.RDMA_READ));
    }
  }

  @DeviceTest
  @On(SOFT_ROCE)
  void softRoceHasNoCounters() {
    try (Context context = Rig.a().open()) {
      Refusal.of(() -> FlowCounters.on(context), "does not support flow counters");
    }
  }

  @DeviceTest
  @On({SOFT_ROCE, MLX5})
  void earlierLibrariesHaveNoCompletionCounters() {
    try (Context context = Rig.a().open()) {
      Refusal.of(
          () -> CompletionCounter.create(context, CompletionCounter.Type.WRS),
          "does not support completion counters");
      Refusal.of(() -> CompletionCounter.capabilities(context));
    }
  }

  @DeviceTest
  @On(SOFT_ROCE)
  void softRoceHasNoWorkQueues() {
    try (Context context = Rig.a().open()) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      CompletionQueue cq = context.createCompletionQueue(2);
      WorkQueue.Builder builder = WorkQueue.builder(pd);
      assertThrows(IllegalStateException.class, builder::create);
      assertThrows(IllegalArgumentException.class, () -> builder.maxRequests(0).maxSges(1));
      builder.completions(cq).flags(WorkQueueFlag.CVLAN_STRIPPING);
      Refusal.of(builder::create, "does not support work queues");
      assertThrows(
          IllegalArgumentException.class, () -> ReceiveIndirectionTable.create(context, List.of()));
    }
  }

  @DeviceTest
  @On(SOFT_ROCE)
  void softRoceHasNoFlowRules() {
    try (Loop loop = new Loop()) {
      assertThrows(IllegalArgumentException.class, () -> FlowRule.on(loop.qp, 0));
      Refusal.of(
          () -> FlowRule.on(loop.qp, 1).match(FlowMatch.ethernet().type(0x0800)).create(),
          "does not support flow steering");
    }
  }

  @DeviceTest
  @On(SOFT_ROCE)
  void softRoceHasNoFlowActions() {
    try (Context context = Rig.a().open()) {
      assertThrows(IllegalStateException.class, () -> FlowAction.on(context, new EspTransform()));
      EspTransform esp =
          new EspTransform()
              .association(new EspTransform.Association(Set.of(), 1, 0, 0, 0))
              .key(new EspTransform.AesGcm(new byte[16], 1, 2, 16));
      Refusal.of(() -> FlowAction.on(context, esp), "does not support ESP");
    }
  }
}
