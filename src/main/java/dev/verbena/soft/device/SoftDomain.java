package dev.verbena.soft.device;

import dev.verbena.raw.ibv_pd;
import java.lang.foreign.GroupLayout;
import org.jspecify.annotations.Nullable;

/** A protection domain, or a parent domain of one. */
public final class SoftDomain extends SoftObject {
  /** The domain that a parent domain stands for, or null. */
  public final @Nullable SoftDomain parentOf;

  /** The remote ports that it has address handles for, also those of its parent domains. */
  public final Peers peers;

  /**
   * A domain.
   *
   * @param parentOf the domain that a parent domain stands for, or null
   * @param thread the thread domain of a parent domain, or null
   */
  public SoftDomain(
      SoftContext context, @Nullable SoftDomain parentOf, @Nullable SoftObject thread) {
    super(context, context.struct(ibv_pd.layout()), context, parentOf, thread);
    this.parentOf = parentOf;
    this.peers = parentOf == null ? new Peers(device.peerNumbers) : parentOf.peers;
  }

  /** A new struct of an object of this domain, whose first fields point to context and domain. */
  public CStruct struct(GroupLayout layout) {
    return context.struct(layout).putLong("pd", address());
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
