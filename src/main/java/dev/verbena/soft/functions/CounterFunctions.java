package dev.verbena.soft.functions;

import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_comp_cntr_caps;
import dev.verbena.raw.ibv_comp_cntr_init_attr;
import dev.verbena.raw.ibv_qp_attach_comp_cntr_attr;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.CallFailure;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.SoftCompletionCounter;
import dev.verbena.soft.device.SoftContext;
import dev.verbena.soft.device.SoftDevice;
import dev.verbena.soft.transport.SoftQueuePair;
import java.util.function.Consumer;

/** Completion counters. */
final class CounterFunctions {
  public void _ibv_query_comp_cntr_caps(long context, long caps, long size) {
    SoftContext _ = Registry.at(context, SoftContext.class);
    Memory.at(caps, size).fill((byte) 0);
    CStruct.at(caps, ibv_comp_cntr_caps.layout())
        .putLong("max_value", -1)
        .putInt("max_counters", SoftDevice.MAX_OBJECTS)
        .putInt("supported_qp_attach_ops", SoftCompletionCounter.OPERATIONS);
  }

  public long ibv_create_comp_cntr(long context, long attributes) {
    SoftContext owner = Registry.at(context, SoftContext.class);
    CStruct attr = CStruct.at(attributes, ibv_comp_cntr_init_attr.layout());
    int type = attr.getInt("type");
    CallFailure.invalidIf(
        attr.getInt("flags") != 0
            || (type != rdma_h.IBV_COMP_CNTR_TYPE_WRS()
                && type != rdma_h.IBV_COMP_CNTR_TYPE_BYTES()),
        "type " + type + ", or flags");
    return Registry.create(
        owner.device,
        () -> new SoftCompletionCounter(owner, type == rdma_h.IBV_COMP_CNTR_TYPE_BYTES()));
  }

  public void ibv_destroy_comp_cntr(long address) {
    Registry.destroy(address, SoftCompletionCounter.class);
  }

  private static void with(long address, Consumer<SoftCompletionCounter> action) {
    SoftCompletionCounter counter = Registry.at(address, SoftCompletionCounter.class);
    counter.device.engine.locked(() -> action.accept(counter));
  }

  public void ibv_set_comp_cntr(long address, long value) {
    with(address, counter -> counter.value = value);
  }

  public void ibv_set_err_comp_cntr(long address, long value) {
    with(address, counter -> counter.errors = value);
  }

  public void ibv_inc_comp_cntr(long address, long amount) {
    with(address, counter -> counter.value += amount);
  }

  public void ibv_inc_err_comp_cntr(long address, long amount) {
    with(address, counter -> counter.errors += amount);
  }

  public void ibv_read_comp_cntr(long address, long value) {
    with(address, counter -> Memory.putLong(value, counter.value));
  }

  public void ibv_read_err_comp_cntr(long address, long value) {
    with(address, counter -> Memory.putLong(value, counter.errors));
  }

  public void ibv_qp_attach_comp_cntr(long qp, long address, long attributes) {
    SoftQueuePair queuePair = Registry.at(qp, SoftQueuePair.class);
    CStruct attr = CStruct.at(attributes, ibv_qp_attach_comp_cntr_attr.layout());
    int operations = attr.getInt("op_mask");
    CallFailure.unsupportedIf(
        (operations & ~SoftCompletionCounter.OPERATIONS) != 0,
        "op_mask 0x" + Integer.toHexString(operations));
    with(
        address,
        counter -> {
          CallFailure.invalidIf(
              operations == 0
                  || (queuePair.state != rdma_h.IBV_QPS_RESET()
                      && queuePair.state != rdma_h.IBV_QPS_INIT()),
              "no operations, or a state other than RESET and INIT");
          queuePair.attach(counter, operations);
        });
  }
}
