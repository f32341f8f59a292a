package dev.verbena.soft.transport;

import dev.verbena.internal.foreign.Abi;
import dev.verbena.raw.ibv_wq;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.Completion;
import dev.verbena.soft.device.ReceiveRequest;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.SoftCompletionQueue;
import dev.verbena.soft.device.SoftDomain;
import dev.verbena.soft.device.SoftObject;
import dev.verbena.soft.device.SoftReceiveQueue;
import org.jspecify.annotations.Nullable;

/** A work queue: receive requests that no queue pair has of its own. */
public final class SoftWorkQueue extends SoftObject {
  private static final long HANDLE = Abi.current().offsetOf(ibv_wq.layout(), "handle");

  public final SoftDomain domain;
  public final SoftCompletionQueue completions;
  public final SoftReceiveQueue receives;
  final int number;
  public volatile int state = rdma_h.IBV_WQS_RESET();
  private final FrameReceiver frames;
  private int flags;

  public SoftWorkQueue(
      SoftDomain domain,
      CStruct struct,
      SoftCompletionQueue completions,
      SoftReceiveQueue receives,
      int number) {
    super(domain.context, struct, domain, completions);
    this.domain = domain;
    this.completions = completions;
    this.receives = receives;
    this.number = number;
    frames = new Receiving();
  }

  /** Receives into the queue. */
  private final class Receiving extends FrameReceiver {
    Receiving() {
      super(SoftWorkQueue.this, domain, completions, number);
    }

    @Override
    int maxElements() {
      return receives.maxElements();
    }

    @Override
    boolean take(ReceiveRequest into) {
      return state == rdma_h.IBV_WQS_RDY() && receives.take(into);
    }

    @Override
    void failed() {
      context.events.add(rdma_h.IBV_EVENT_WQ_FATAL(), SoftWorkQueue.this);
      modify(rdma_h.IBV_WQS_ERR());
    }
  }

  /** The queue whose {@code ibv_wq} is at an address, or null. */
  public static @Nullable SoftWorkQueue at(long address) {
    return Registry.byHandle(address, HANDLE) instanceof SoftWorkQueue queue ? queue : null;
  }

  @Override
  protected void end() {
    completions.forget(this);
  }

  FrameReceiver frames() {
    return frames;
  }

  /** Enters a state. */
  public void modify(int newState) {
    state = newState;
    struct.putInt("state", newState);
    if (newState == rdma_h.IBV_WQS_ERR()) {
      flush();
    } else if (newState == rdma_h.IBV_WQS_RESET()) {
      receives.clear();
      completions.forget(this);
    }
  }

  @Override
  public void fail() {
    if (state == rdma_h.IBV_WQS_RDY()) {
      modify(rdma_h.IBV_WQS_ERR());
    }
  }

  /** Completes the receives that were posted, with WR_FLUSH_ERR. */
  public void flush() {
    Completion completion = new Completion();
    ReceiveRequest request = new ReceiveRequest(receives.maxElements());
    while (!receives.isEmpty()) {
      completions.reserve();
      boolean _ = receives.take(request);
      completion.begin(this, number, rdma_h.IBV_WC_RECV(), request);
      completion.status = rdma_h.IBV_WC_WR_FLUSH_ERR();
      completions.add(completion, false);
    }
  }

  public int flags() {
    return flags;
  }

  /** Sets {@code IBV_WQ_FLAGS_*}. Those without effect concern hardware. */
  public void flags(int newFlags) {
    flags = newFlags;
    frames.stripsTags = (flags & rdma_h.IBV_WQ_FLAGS_CVLAN_STRIPPING()) != 0;
    frames.keepsCheckSequence = (flags & rdma_h.IBV_WQ_FLAGS_SCATTER_FCS()) != 0;
  }
}
