package dev.verbena.fake;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.fake.FakeDevice.Completion;
import dev.verbena.fake.FakeDevice.Cq;
import dev.verbena.internal.Memory;
import dev.verbena.raw.ibv_comp_channel;
import dev.verbena.raw.ibv_cq;
import dev.verbena.raw.ibv_wc;
import dev.verbena.raw.rdma_h;
import dev.verbena.testing.Pipe;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Completion channels and completion queues. */
final class FakeCompletions {
  /** A completion channel: the addresses of queues through a pipe. */
  record Channel(CStruct struct, Pipe pipe) {}

  private final FakeDevice device;
  private final FakeEvents events;

  FakeCompletions(FakeDevice device, FakeEvents events) {
    this.device = device;
    this.events = events;
  }

  public long ibv_create_comp_channel(long context) {
    synchronized (device) {
      device.contexts.at(context);
      Pipe pipe = new Pipe();
      CStruct struct =
          CStruct.in(device.arena, ibv_comp_channel.layout())
              .putLong("context", context)
              .putInt("fd", pipe.readEnd());
      device.channels.add(struct.address(), new Channel(struct, pipe));
      return struct.address();
    }
  }

  public void ibv_destroy_comp_channel(long address) {
    synchronized (device) {
      Channel channel = device.channels.at(address);
      if (channel.struct().getInt("refcnt") != 0) {
        throw new VerbsException("ibv_destroy_comp_channel", Errno.EBUSY);
      }
      device.channels.remove(address);
      channel.pipe().close();
    }
  }

  public long ibv_create_cq(long context, int cqe, long cqContext, long channel, int vector) {
    synchronized (device) {
      device.contexts.at(context);
      if (cqe < 1
          || cqe > FakeDevice.MAX_CQE
          || vector < 0
          || vector >= FakeDevice.COMPLETION_VECTORS) {
        throw new VerbsException("ibv_create_cq", Errno.EINVAL);
      }
      if (!device.hasMemoryFor(cqe)) {
        throw new VerbsException("ibv_create_cq", Errno.ENOMEM);
      }
      CStruct struct =
          CStruct.in(device.arena, ibv_cq.layout())
              .putLong("context", context)
              .putLong("channel", channel)
              .putLong("cq_context", cqContext)
              .putInt("handle", device.nextNumber())
              .putInt("cqe", cqe);
      Channel announced = channel == 0 ? null : device.channels.at(channel);
      count(announced, 1);
      device.completionQueues.add(struct.address(), new Cq(struct, announced, cqe));
      return struct.address();
    }
  }

  private static void count(Channel channel, int change) {
    if (channel != null) {
      channel.struct().putInt("refcnt", channel.struct().getInt("refcnt") + change);
    }
  }

  public void ibv_resize_cq(long address, int cqe) {
    synchronized (device) {
      Cq cq = device.completionQueues.at(address);
      if (cqe < Math.max(1, cq.entries.size()) || cqe > FakeDevice.MAX_CQE) {
        throw new VerbsException("ibv_resize_cq", Errno.EINVAL);
      }
      cq.capacity = cqe;
      cq.struct.putInt("cqe", cqe);
    }
  }

  public void ibv_destroy_cq(long address) {
    synchronized (device) {
      Cq cq = device.completionQueues.at(address);
      if (cq.users > 0) {
        throw new VerbsException("ibv_destroy_cq", Errno.EBUSY);
      }
      if (cq.unacknowledged > 0) {
        throw new IllegalStateException("C would wait for ever: unacknowledged events");
      }
      count(cq.channel, -1);
      device.completionQueues.remove(address);
    }
  }

  public void ibv_get_cq_event(long address, long cqOut, long contextOut) {
    Channel channel;
    synchronized (device) {
      channel = device.channels.at(address);
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment event = arena.allocate(ValueLayout.JAVA_LONG);
      long read = channel.pipe().read(event); // Blocks, as in C.
      if (read < 0) {
        throw new VerbsException("ibv_get_cq_event", (int) -read);
      }
      synchronized (device) {
        long source = event.get(ValueLayout.JAVA_LONG, 0);
        if (!device.completionQueues.contains(source)) {
          // The kernel discards the events of a queue that is destroyed.
          throw new VerbsException("ibv_get_cq_event", Errno.EAGAIN);
        }
        Cq cq = device.completionQueues.at(source);
        cq.unacknowledged++;
        Memory.putLong(cqOut, cq.struct.address());
        Memory.putLong(contextOut, cq.struct.getLong("cq_context"));
      }
    }
  }

  public void ibv_ack_cq_events(long address, int number) {
    synchronized (device) {
      Cq cq = device.completionQueues.at(address);
      cq.unacknowledged -= number;
      if (cq.unacknowledged < 0) {
        throw new IllegalStateException("acknowledged more events than were taken");
      }
    }
  }

  /** The pointer behind {@code ibv_req_notify_cq}. */
  public int req_notify_cq(long address, int solicitedOnly) {
    synchronized (device) {
      Cq cq = device.completionQueues.at(address);
      cq.solicitedOnly = solicitedOnly != 0 && (!cq.armed || cq.solicitedOnly);
      cq.armed = true;
      return 0;
    }
  }

  /** The pointer behind {@code ibv_poll_cq}. */
  public int poll_cq(long address, int number, long wc) {
    synchronized (device) {
      Cq cq = device.completionQueues.at(address);
      cq.overrun = false;
      int polled = 0;
      while (polled < number && !cq.entries.isEmpty()) {
        Completion c = cq.entries.remove();
        CStruct.at(wc + polled * ibv_wc.sizeof(), ibv_wc.layout())
            .putLong("wr_id", c.wrId())
            .putInt("status", c.status())
            .putInt("opcode", c.opcode())
            .putInt("vendor_err", c.status() == rdma_h.IBV_WC_SUCCESS() ? 0 : 0x55)
            .putInt("byte_len", c.length())
            .putInt("imm_data", c.immediate())
            .putInt("qp_num", c.qp())
            .putInt("src_qp", c.srcQp())
            .putInt("wc_flags", c.flags());
        polled++;
      }
      return polled;
    }
  }

  /** Adds a completion, and announces it if that was asked for. */
  void complete(Cq cq, Completion completion, boolean solicited) {
    if (cq.entries.size() == cq.capacity) {
      if (!cq.overrun) {
        cq.overrun = true;
        long context = cq.struct.getLong("context");
        events.announce(context, rdma_h.IBV_EVENT_CQ_ERR(), cq.struct.address());
      }
      return;
    }
    cq.entries.add(completion);
    boolean failed = completion.status() != rdma_h.IBV_WC_SUCCESS();
    if (cq.armed && cq.channel != null && (!cq.solicitedOnly || solicited || failed)) {
      cq.armed = false;
      cq.channel.pipe().write(cq.struct.address());
    }
  }
}
