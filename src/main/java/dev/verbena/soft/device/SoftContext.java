package dev.verbena.soft.device;

import java.lang.foreign.GroupLayout;

/** An open device: a {@code struct verbs_context}, referred to by the context within. */
public final class SoftContext extends SoftObject {
  public final AsyncEventQueue events;

  public SoftContext(
      SoftDevice device, CStruct verbsContext, CStruct plain, AsyncEventQueue events) {
    super(device, verbsContext, plain.address());
    this.events = events;
  }

  /** A new struct of an object of this context, which its first field points to. */
  public CStruct struct(GroupLayout layout) {
    return CStruct.allocate(layout).putLong("context", address());
  }
}
