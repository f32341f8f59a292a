package dev.verbena.soft.device;

import dev.verbena.raw.ibv_xrcd;

/** An XRC domain, as one context opened it. */
public final class SoftXrcDomain extends SoftObject {
  public final XrcRoot root;

  public SoftXrcDomain(SoftContext context, XrcRoot root) {
    super(context, context.struct(ibv_xrcd.layout()), context);
    this.root = root;
  }

  @Override
  protected void begin() {
    root.opened++;
  }

  @Override
  protected void end() {
    root.opened--;
  }
}
