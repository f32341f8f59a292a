package dev.verbena.soft.device;

import dev.verbena.internal.foreign.Abi;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_srq;
import dev.verbena.raw.rdma_h;
import org.jspecify.annotations.Nullable;

/** A shared receive queue (SRQ). */
public final class SoftSharedQueue extends SoftObject {
  private static final long HANDLE = Abi.current().offsetOf(ibv_srq.layout(), "handle");

  public final SoftDomain domain;
  public final ReceiveQueue requests;

  /** The number of an XRC shared receive queue, or 0. */
  public int number;

  /** The domain of an XRC shared receive queue, or null. */
  public @Nullable SoftXrcDomain xrcDomain;

  /** The tags of a queue with tag matching, or null. */
  public @Nullable TagList tags;

  /** The completion queue of a queue for XRC or with tag matching, or null. */
  public @Nullable SoftCompletionQueue completionQueue;

  /** Below how many requests the limit event is due; 0 for none. */
  private int limit;

  public SoftSharedQueue(SoftDomain domain, CStruct struct, ReceiveQueue requests) {
    super(domain.device, struct);
    this.domain = domain;
    this.requests = requests;
  }

  /** The queue whose {@code ibv_srq} is at an address, or null. */
  public static @Nullable SoftSharedQueue at(long address) {
    return Registry.byHandle(Memory.getInt(address + HANDLE)) instanceof SoftSharedQueue queue
            && queue.address() == address
        ? queue
        : null;
  }

  public int limit() {
    return limit;
  }

  public void limit(int requests) {
    limit = requests;
    checkLimit();
  }

  public boolean take(ReceiveRequest into) {
    boolean taken = requests.take(into);
    checkLimit();
    return taken;
  }

  private void checkLimit() {
    if (limit > 0 && requests.size() < limit) {
      limit = 0;
      domain.context.events.add(rdma_h.IBV_EVENT_SRQ_LIMIT_REACHED(), this);
    }
  }

  @Override
  public String kind() {
    return "shared receive queue";
  }
}
