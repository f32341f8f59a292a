package dev.verbena.soft;

/** An open device: a {@code struct verbs_context}, referred to by the context within. */
final class SoftContext extends SoftObject {
  final AsyncEventQueue events;
  private final CStruct context;

  SoftContext(SoftDevice device, CStruct verbsContext, CStruct context, AsyncEventQueue events) {
    super(device, verbsContext);
    this.context = context;
    this.events = events;
  }

  @Override
  long address() {
    return context.address();
  }
}
