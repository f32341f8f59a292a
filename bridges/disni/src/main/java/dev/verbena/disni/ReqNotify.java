package dev.verbena.disni;

import com.ibm.disni.verbs.SVCReqNotify;
import java.io.IOException;

/** The request of a completion event, executed once for each event. */
final class ReqNotify extends SVCReqNotify {
  private final BridgeCq cq;
  private final boolean solicitedOnly;
  private boolean valid = true;

  ReqNotify(BridgeCq cq, boolean solicitedOnly) {
    this.cq = cq;
    this.solicitedOnly = solicitedOnly;
  }

  @Override
  public SVCReqNotify execute() throws IOException {
    Call.requireValid(valid, "request of an event");
    Failures.requireOpen(cq.isOpen(), "completion queue");
    try {
      if (solicitedOnly) {
        cq.queue().requestSolicitedNotification();
      } else {
        cq.queue().requestNotification();
      }
    } catch (RuntimeException e) {
      throw Failures.io(e);
    }
    return this;
  }

  @Override
  public boolean isValid() {
    return valid;
  }

  @Override
  public SVCReqNotify free() {
    valid = false;
    return this;
  }
}
