package dev.verbena.soft.device;

import dev.verbena.internal.foreign.Abi;
import dev.verbena.raw.ibv_srq;
import dev.verbena.raw.rdma_h;
import org.jspecify.annotations.Nullable;

/** A shared receive queue (SRQ). */
public final class SoftSharedQueue extends SoftObject {
  private static final long HANDLE = Abi.current().offsetOf(ibv_srq.layout(), "handle");

  public final SoftDomain domain;
  public final SoftReceiveQueue requests;

  /** The number of an XRC shared receive queue, or 0. */
  public final int number;

  /** The domain of an XRC shared receive queue, or null. */
  private final @Nullable SoftXrcDomain xrcDomain;

  /** The tags of a queue with tag matching, or null. */
  public final @Nullable TagList tags;

  /** The completion queue of a queue for XRC or with tag matching, or null. */
  public final @Nullable SoftCompletionQueue completionQueue;

  /** Below how many requests the limit event is due; 0 for none. */
  private int limit;

  /**
   * A queue.
   *
   * @param xrcDomain for XRC, otherwise null
   * @param completionQueue for XRC and tag matching, otherwise null
   * @param tags for tag matching, otherwise null
   */
  public SoftSharedQueue(
      SoftDomain domain,
      CStruct struct,
      SoftReceiveQueue requests,
      @Nullable SoftXrcDomain xrcDomain,
      @Nullable SoftCompletionQueue completionQueue,
      @Nullable TagList tags) {
    super(domain.context, struct, domain, xrcDomain, completionQueue);
    this.domain = domain;
    this.requests = requests;
    this.xrcDomain = xrcDomain;
    this.completionQueue = completionQueue;
    this.tags = tags;
    number = xrcDomain == null ? 0 : device.newSharedQueueNumber();
  }

  @Override
  protected void begin() {
    if (xrcDomain != null) {
      xrcDomain.root.queues.put(number, this);
    }
  }

  @Override
  protected void end() {
    if (xrcDomain != null) {
      xrcDomain.root.queues.remove(number);
    }
    if (completionQueue != null) {
      completionQueue.forget(this);
    }
  }

  /** The queue whose {@code ibv_srq} is at an address, or null. */
  public static @Nullable SoftSharedQueue at(long address) {
    return Registry.byHandle(address, HANDLE) instanceof SoftSharedQueue queue ? queue : null;
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
      context.events.add(rdma_h.IBV_EVENT_SRQ_LIMIT_REACHED(), this);
    }
  }

  @Override
  public String kind() {
    return "shared receive queue";
  }
}
