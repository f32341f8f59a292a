package dev.verbena.soft.device;

import dev.verbena.raw.ibv_td;

/** A thread domain. */
public final class SoftThreadDomain extends SoftObject {
  public SoftThreadDomain(SoftContext context) {
    super(context, context.struct(ibv_td.layout()), context);
  }
}
