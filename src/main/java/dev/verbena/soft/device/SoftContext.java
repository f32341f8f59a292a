package dev.verbena.soft.device;

/** An open device: a {@code struct verbs_context}, referred to by the context within. */
public final class SoftContext extends SoftObject {
  public final AsyncEventQueue events;
  private final CStruct context;

  public SoftContext(
      SoftDevice device, CStruct verbsContext, CStruct context, AsyncEventQueue events) {
    super(device, verbsContext);
    this.context = context;
    this.events = events;
  }

  @Override
  public long address() {
    return context.address();
  }
}
