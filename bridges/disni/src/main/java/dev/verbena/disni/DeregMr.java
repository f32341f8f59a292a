package dev.verbena.disni;

import com.ibm.disni.verbs.SVCDeregMr;
import java.io.IOException;

/** The deregistration of memory, to be executed. */
final class DeregMr extends SVCDeregMr {
  private final BridgeMr mr;
  private boolean valid = true;

  DeregMr(BridgeMr mr) {
    this.mr = mr;
  }

  @Override
  public SVCDeregMr execute() throws IOException {
    Call.requireValid(valid, "deregistration");
    BridgeMr.of(mr).deregister();
    return this;
  }

  @Override
  public boolean isValid() {
    return valid;
  }

  @Override
  public SVCDeregMr free() {
    valid = false;
    return this;
  }
}
