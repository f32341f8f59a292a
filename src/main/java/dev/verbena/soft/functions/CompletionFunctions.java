package dev.verbena.soft.functions;

import dev.verbena.Errno;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.io.EventFile;
import dev.verbena.raw.ibv_cq;
import dev.verbena.raw.ibv_cq_ex;
import dev.verbena.raw.ibv_cq_init_attr_ex;
import dev.verbena.raw.ibv_modify_cq_attr;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.CallFailure;
import dev.verbena.soft.device.Profile;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.SoftChannel;
import dev.verbena.soft.device.SoftCompletionQueue;
import dev.verbena.soft.device.SoftContext;
import dev.verbena.soft.device.SoftDevice;

/** Completion channels and completion queues. */
final class CompletionFunctions {
  private static final int TIMESTAMPS =
      rdma_h.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP()
          | rdma_h.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK();

  public long ibv_create_comp_channel(long context) {
    SoftContext owner = Registry.at(context, SoftContext.class);
    EventFile file = EventFile.open();
    return Registry.create(owner.device, () -> new SoftChannel(owner, file));
  }

  public void ibv_destroy_comp_channel(long address) {
    SoftChannel channel = Registry.at(address, SoftChannel.class);
    channel.device.engine.locked(
        () -> {
          // As libibverbs does: a queue that could not be destroyed still counts.
          int queues = channel.struct.getInt("refcnt");
          if (queues > 0) {
            if (channel.device.isLost()) {
              Registry.release(channel);
            }
            throw CallFailure.of(Errno.EBUSY, queues + " completion queues use it");
          }
          Registry.remove(channel);
        });
    channel.close();
  }

  public void ibv_get_cq_event(long address, long queue, long queueContext) {
    int[] errno = new int[1];
    SoftCompletionQueue taken = Registry.at(address, SoftChannel.class).take(errno);
    if (taken == null) {
      throw CallFailure.of(errno[0]);
    }
    Memory.putLong(queue, taken.address());
    Memory.putLong(queueContext, taken.struct.getLong("cq_context"));
  }

  public void ibv_ack_cq_events(long address, int events) {
    SoftCompletionQueue queue = SoftCompletionQueue.at(address);
    if (queue != null) {
      queue.acknowledge(events);
    }
  }

  public long ibv_create_cq(long context, int entries, long cqContext, long channel, int vector) {
    SoftContext owner = Registry.at(context, SoftContext.class);
    check(entries, vector, owner.device.profile);
    return create(owner, owner.struct(ibv_cq.layout()), entries, cqContext, channel).address();
  }

  private static void check(int entries, int vector, Profile profile) {
    int most = profile.limit("max_cqe", SoftDevice.MAX_CQE);
    CallFailure.invalidIf(
        entries < 1 || entries > most, "cqe is 1 to " + most + ", not " + entries);
    if (vector < 0 || vector >= SoftDevice.VECTORS) {
      throw CallFailure.invalid(
          "comp_vector is 0 to " + (SoftDevice.VECTORS - 1) + ", not " + vector);
    }
  }

  private static SoftCompletionQueue create(
      SoftContext owner, CStruct struct, int entries, long cqContext, long channelAddress) {
    SoftChannel channel =
        channelAddress == 0 ? null : Registry.at(channelAddress, SoftChannel.class);
    struct
        .putLong("channel", channelAddress)
        .putLong("cq_context", cqContext)
        .putInt("cqe", entries);
    return owner.device.engine.locked(
        () -> Registry.add(new SoftCompletionQueue(owner, struct, channel, entries)));
  }

  public long create_cq_ex(long context, long attributes) {
    return createExtended(context, attributes).address();
  }

  /** Creates an extended completion queue. */
  static SoftCompletionQueue createExtended(long context, long attributes) {
    SoftContext owner = Registry.at(context, SoftContext.class);
    CStruct attr = CStruct.at(attributes, ibv_cq_init_attr_ex.layout());
    check(attr.getInt("cqe"), attr.getInt("comp_vector"), owner.device.profile);
    CStruct struct = owner.struct(ibv_cq_ex.layout());
    ExtendedPolling.fill(struct, attr.getLong("wc_flags"));
    SoftCompletionQueue queue =
        create(
            owner, struct, attr.getInt("cqe"), attr.getLong("cq_context"), attr.getLong("channel"));
    queue.hasTimestamps = (attr.getLong("wc_flags") & TIMESTAMPS) != 0;
    return queue;
  }

  public void ibv_resize_cq(long address, int entries) {
    SoftCompletionQueue queue = Registry.at(address, SoftCompletionQueue.class);
    check(entries, 0, queue.device.profile);
    CallFailure.invalidIf(!queue.resize(entries), "more completions wait");
    queue.struct.putInt("cqe", entries);
  }

  public int modify_cq(long address, long attributes) {
    SoftCompletionQueue queue = Registry.at(address, SoftCompletionQueue.class);
    CStruct attr = CStruct.at(attributes, ibv_modify_cq_attr.layout());
    if ((attr.getInt("attr_mask") & rdma_h.IBV_CQ_ATTR_MODERATE()) != 0) {
      queue.moderate(attr.getShort("moderate.cq_count"), attr.getShort("moderate.cq_period"));
    }
    return 0;
  }

  public void ibv_destroy_cq(long address) {
    SoftCompletionQueue queue = Registry.at(address, SoftCompletionQueue.class);
    queue.device.engine.locked(
        () -> {
          queue.requireUnused();
          queue.end();
        });
    // Events are acknowledged by the address of the queue, which must be known until then.
    queue.awaitAcknowledgements();
    queue.device.engine.locked(() -> Registry.remove(queue));
    queue.context.events.forget(queue);
  }

  public int poll_cq(long address, int count, long wc) {
    SoftCompletionQueue queue = SoftCompletionQueue.at(address);
    return queue == null ? -Errno.EINVAL : queue.poll(count, wc);
  }

  public int req_notify_cq(long address, int solicitedOnly) {
    SoftCompletionQueue queue = SoftCompletionQueue.at(address);
    if (queue == null) {
      return Errno.EINVAL;
    }
    queue.arm(solicitedOnly != 0);
    return 0;
  }
}
