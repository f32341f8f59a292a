package dev.verbena.soft.device;

/** A protection domain, or a parent domain of one. */
public final class SoftDomain extends SoftObject {
  public final SoftContext context;

  /** The domain that a parent domain stands for, or null. */
  public final SoftDomain parentOf;

  /** The thread domain of a parent domain, or null. */
  public SoftObject thread;

  public SoftDomain(SoftContext context, CStruct struct, SoftDomain parentOf) {
    super(context.device, struct);
    this.context = context;
    this.parentOf = parentOf;
  }

  /** The protection domain: what is made in a parent domain belongs to the same one. */
  public SoftDomain root() {
    return parentOf == null ? this : parentOf.root();
  }

  @Override
  public String kind() {
    return "protection domain";
  }
}
