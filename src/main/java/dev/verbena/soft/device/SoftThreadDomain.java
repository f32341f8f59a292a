package dev.verbena.soft.device;

/** A thread domain. */
public final class SoftThreadDomain extends SoftObject {
  public final SoftContext context;

  public SoftThreadDomain(SoftContext context, CStruct struct) {
    super(context.device, struct);
    this.context = context;
  }
}
