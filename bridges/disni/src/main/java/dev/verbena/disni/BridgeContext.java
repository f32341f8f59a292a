package dev.verbena.disni;

import com.ibm.disni.verbs.IbvContext;
import dev.verbena.verbs.Context;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;

/** A device that RDMA CM opened: one object for each. */
final class BridgeContext extends IbvContext {
  /** Far above the numbers of file descriptors. */
  private static final AtomicInteger WITHOUT_DESCRIPTOR = new AtomicInteger(1 << 30);

  private final Context context;

  private BridgeContext(Context context, int descriptor) throws IOException {
    super(descriptor, context.completionVectors());
    this.context = context;
  }

  /**
   * Wraps a context. Programs, and DiSNI's endpoint groups, know devices by their descriptor: a
   * software device, which has none, gets a number of its own.
   */
  static BridgeContext of(Context context) throws IOException {
    int descriptor = context.commandDescriptor();
    return new BridgeContext(
        context, descriptor < 0 ? WITHOUT_DESCRIPTOR.getAndIncrement() : descriptor);
  }

  /** Returns the context of a call's argument. */
  static Context of(IbvContext argument) throws IOException {
    BridgeContext own = Failures.own(BridgeContext.class, argument, "context");
    Failures.requireOpen(own.isOpen(), "context");
    return own.context;
  }
}
