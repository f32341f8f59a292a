package dev.verbena.soft;

/** A protection domain, or a parent domain of one. */
final class SoftDomain extends SoftObject {
  final SoftContext context;

  /** The domain that a parent domain stands for, or null. */
  final SoftDomain parentOf;

  /** The thread domain of a parent domain, or null. */
  SoftObject thread;

  SoftDomain(SoftContext context, CStruct struct, SoftDomain parentOf) {
    super(context.device, struct);
    this.context = context;
    this.parentOf = parentOf;
  }

  /** The protection domain: what is made in a parent domain belongs to the same one. */
  SoftDomain root() {
    return parentOf == null ? this : parentOf.root();
  }

  @Override
  String kind() {
    return "protection domain";
  }
}
