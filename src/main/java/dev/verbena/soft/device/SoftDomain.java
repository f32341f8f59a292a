package dev.verbena.soft.device;

import org.jspecify.annotations.Nullable;

/** A protection domain, or a parent domain of one. */
public final class SoftDomain extends SoftObject {
  public final SoftContext context;

  /** The domain that a parent domain stands for, or null. */
  public final @Nullable SoftDomain parentOf;

  /** The remote ports that it has address handles for, also those of its parent domains. */
  public final Peers peers;

  /** The thread domain of a parent domain, or null. */
  public @Nullable SoftObject thread;

  public SoftDomain(SoftContext context, CStruct struct, @Nullable SoftDomain parentOf) {
    super(context.device, struct);
    this.context = context;
    this.parentOf = parentOf;
    this.peers = parentOf == null ? new Peers(device.peerNumbers) : parentOf.peers;
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
