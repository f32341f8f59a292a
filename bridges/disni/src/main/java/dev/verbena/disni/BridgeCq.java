package dev.verbena.disni;

import com.ibm.disni.verbs.IbvCQ;
import com.ibm.disni.verbs.IbvContext;
import dev.verbena.verbs.CompletionQueue;
import java.io.IOException;

/** A completion queue. */
final class BridgeCq extends IbvCQ {
  private final CompletionQueue queue;

  BridgeCq(IbvContext context, BridgeCompChannel channel, CompletionQueue queue)
      throws IOException {
    super(context, channel, 0); // DiSNI's provider returns no handle either.
    this.queue = queue;
    this.cqe = queue.capacity();
  }

  /** Returns the queue of a call's argument. */
  static BridgeCq of(IbvCQ argument, String what) throws IOException {
    BridgeCq own = Failures.own(BridgeCq.class, argument, what);
    Failures.requireOpen(own.isOpen(), what);
    return own;
  }

  CompletionQueue queue() {
    return queue;
  }

  /** Destroys it, after the queue pairs that use it. */
  int destroy() throws IOException {
    Failures.run(queue::close);
    close();
    return 0;
  }
}
