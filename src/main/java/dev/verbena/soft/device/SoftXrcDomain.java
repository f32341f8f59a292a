package dev.verbena.soft.device;

/** An XRC domain, as one context opened it. */
public final class SoftXrcDomain extends SoftObject {
  public final SoftContext context;
  public final XrcRoot root;

  public SoftXrcDomain(SoftContext context, CStruct struct, XrcRoot root) {
    super(context.device, struct);
    this.context = context;
    this.root = root;
  }
}
