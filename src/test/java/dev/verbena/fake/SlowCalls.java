package dev.verbena.fake;

import dev.verbena.raw.ibv_send_wr;
import dev.verbena.soft.SoftInternals;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * A data path that takes its time: each call looks at its queue at the end, as C would, and finds
 * out whether that was destroyed meanwhile. Nothing is posted, and nothing completes.
 */
public final class SlowCalls {
  private final SoftInternals device;

  /** How many calls were begun. */
  public final AtomicInteger begun = new AtomicInteger();

  /** Makes calls on the device of a provider, which must play this. */
  public SlowCalls(FakeProvider provider) {
    device = provider.internals();
  }

  private int look(long address) {
    begun.incrementAndGet();
    for (int i = 0; i < 20; i++) {
      LockSupport.parkNanos(1_000);
    }
    if (!device.exists(address)) {
      throw new IllegalStateException("used after it was destroyed");
    }
    return 0;
  }

  /** The pointer behind {@code ibv_poll_cq}. */
  public int poll_cq(long cq, int number, long wc) {
    return look(cq);
  }

  /** The pointer behind {@code ibv_req_notify_cq}. */
  public int req_notify_cq(long cq, int solicitedOnly) {
    return look(cq);
  }

  /** The pointer behind {@code ibv_post_send}; it follows the address handles of datagrams. */
  public int post_send(long qp, long wr, long badWr) {
    long handle = FakeStruct.at(wr, ibv_send_wr.layout()).getLong("wr.ud.ah");
    if (handle != 0) {
      look(handle);
    }
    return look(qp);
  }

  /** The pointer behind {@code ibv_post_recv}. */
  public int post_recv(long qp, long wr, long badWr) {
    return look(qp);
  }

  /** The pointer behind {@code ibv_post_srq_recv}. */
  public int post_srq_recv(long srq, long wr, long badWr) {
    return look(srq);
  }
}
