package dev.verbena.soft.functions;

import dev.verbena.Errno;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_counter_attach_attr;
import dev.verbena.raw.ibv_flow_attr;
import dev.verbena.raw.ibv_flow_spec_action_tag;
import dev.verbena.raw.ibv_flow_spec_counter_action;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.CallFailure;
import dev.verbena.soft.device.FlowEntry;
import dev.verbena.soft.device.FlowFilter;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.SoftContext;
import dev.verbena.soft.device.SoftFlowCounters;
import dev.verbena.soft.device.SoftPort;
import dev.verbena.soft.transport.SoftFlow;
import dev.verbena.soft.transport.SoftQueuePair;
import java.util.ArrayList;
import java.util.List;

/** Flow rules and their counters. */
final class FlowFunctions {
  /** Type and size, with which each spec begins. */
  private static final int SPEC_HEADER = 8;

  private static final long SPEC_SIZE = 4;

  private static SoftFlowCounters counters(long address) {
    return Registry.at(address, SoftFlowCounters.class);
  }

  // Rules

  public long ibv_create_flow(long qp, long attributes) {
    SoftQueuePair queuePair = Registry.at(qp, SoftQueuePair.class);
    CStruct attr = CStruct.at(attributes, ibv_flow_attr.layout());
    SoftPort port = queuePair.device.port(attr.getByte("port"));
    int flags = attr.getInt("flags");
    int type = attr.getInt("type");
    CallFailure.invalidIf(
        queuePair.type != rdma_h.IBV_QPT_RAW_PACKET(), "not a RAW_PACKET queue pair");
    if ((flags & ~rdma_h.IBV_FLOW_ATTR_FLAGS_DONT_TRAP()) != 0 || attr.getInt("comp_mask") != 0) {
      throw CallFailure.of(
          Errno.EOPNOTSUPP, "flags 0x" + Integer.toHexString(flags) + ", or comp_mask");
    }
    CallFailure.invalidIf(
        type < rdma_h.IBV_FLOW_ATTR_NORMAL()
            || type > rdma_h.IBV_FLOW_ATTR_SNIFFER()
            || (flags != 0 && type != rdma_h.IBV_FLOW_ATTR_NORMAL()),
        "type " + type + ", flags " + flags);
    Rule rule = Rule.read(attributes, attr.getShort("size"), attr.getByte("num_of_specs"));
    return Registry.create(
        queuePair.device,
        () ->
            new SoftFlow(
                queuePair,
                port,
                new FlowEntry.Match(type, attr.getShort("priority"), flags == 0, rule.filters),
                rule.actions()));
  }

  /** What the specs after a {@code struct ibv_flow_attr} ask for. */
  private static final class Rule {
    private final List<FlowFilter> filters = new ArrayList<>();
    private int tag;
    private boolean drops;
    private SoftFlowCounters counters;

    static Rule read(long attributes, int size, int number) {
      Rule rule = new Rule();
      long at = ibv_flow_attr.sizeof();
      for (int i = 0; i < number; i++) {
        int length =
            at + SPEC_HEADER > size
                ? 0
                : Short.toUnsignedInt(Memory.getShort(attributes + at + SPEC_SIZE));
        CallFailure.invalidIf(
            length < SPEC_HEADER || at + length > size,
            "spec " + i + " ends behind the " + size + " bytes");
        rule.add(Memory.getInt(attributes + at), attributes + at);
        at += length;
      }
      return rule;
    }

    private void add(int type, long spec) {
      if (type == rdma_h.IBV_FLOW_SPEC_ACTION_TAG()) {
        tag = Memory.getInt(spec + ibv_flow_spec_action_tag.tag_id$offset());
      } else if (type == rdma_h.IBV_FLOW_SPEC_ACTION_DROP()) {
        drops = true;
      } else if (type == rdma_h.IBV_FLOW_SPEC_ACTION_COUNT()) {
        counters =
            FlowFunctions.counters(
                Memory.getLong(spec + ibv_flow_spec_counter_action.counters$offset()));
      } else {
        filters.add(FlowFilter.read(type, spec));
      }
    }

    SoftFlow.Actions actions() {
      return new SoftFlow.Actions(tag, drops, counters);
    }
  }

  public int ibv_destroy_flow(long address) {
    Registry.destroy(address, SoftFlow.class);
    return 0;
  }

  // Counters

  public long create_counters(long context, long attributes) {
    SoftContext owner = Registry.at(context, SoftContext.class);
    return Registry.create(owner.device, () -> new SoftFlowCounters(owner));
  }

  public int destroy_counters(long address) {
    Registry.destroy(address, SoftFlowCounters.class);
    return 0;
  }

  /** Before rules use them. */
  public int attach_counters_point_flow(long address, long attributes, long flow) {
    SoftFlowCounters counters = counters(address);
    CStruct attr = CStruct.at(attributes, ibv_counter_attach_attr.layout());
    int description = attr.getInt("counter_desc");
    int index = attr.getInt("index");
    if (flow != 0
        || index < 0
        || index > SoftFlowCounters.MAX_INDEX
        || (description != rdma_h.IBV_COUNTER_PACKETS()
            && description != rdma_h.IBV_COUNTER_BYTES())) {
      return Errno.EINVAL;
    }
    return counters.device.engine.locked(
        () -> {
          if (counters.isUsed()) {
            return Errno.EBUSY;
          }
          counters.attach(description, index);
          return 0;
        });
  }

  public int read_counters(long address, long values, int count, int flags) {
    SoftFlowCounters counters = counters(address);
    counters.device.engine.locked(
        () -> {
          for (int i = 0; i < count; i++) {
            Memory.putLong(values + (long) i * Long.BYTES, counters.read(i));
          }
        });
    return 0;
  }
}
