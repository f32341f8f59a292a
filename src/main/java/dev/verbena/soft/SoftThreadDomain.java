package dev.verbena.soft;

/** A thread domain. */
final class SoftThreadDomain extends SoftObject {
  final SoftContext context;

  SoftThreadDomain(SoftContext context, CStruct struct) {
    super(context.device, struct);
    this.context = context;
  }
}
