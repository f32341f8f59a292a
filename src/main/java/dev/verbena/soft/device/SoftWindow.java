package dev.verbena.soft.device;

import dev.verbena.raw.ibv_mw;
import org.jspecify.annotations.Nullable;

/** A memory window. */
public final class SoftWindow extends SoftObject {
  public final SoftDomain domain;
  public final int type;

  /** The region that it is bound to, or null. */
  public @Nullable SoftRegion region;

  /** The key under which it is bound, or null. */
  private @Nullable MemoryKey bound;

  private boolean deallocated;

  public SoftWindow(SoftDomain domain, int type) {
    super(
        domain.context,
        domain
            .struct(ibv_mw.layout())
            .putInt("rkey", domain.device.keys.reserve())
            .putInt("type", type),
        domain);
    this.domain = domain;
    this.type = type;
  }

  public int key() {
    return struct.getInt("rkey");
  }

  /** Ends the binding; requests that are posted already cannot bind it any more. */
  @Override
  protected void end() {
    unbind();
    deallocated = true;
    device.keys.release(key());
  }

  public boolean isDeallocated() {
    return deallocated;
  }

  /** Ends the binding. */
  public void unbind() {
    if (region != null) {
      device.keys.remove(bound.key);
      if (bound.owner != null) {
        bound.owner.use(-1);
      }
      region.use(-1);
      region = null;
      bound = null;
    }
  }

  /** Binds it to a part of a region, under a key. */
  public void bind(SoftRegion to, MemoryKey key) {
    unbind();
    region = to;
    bound = key;
    to.use(1);
    if (key.owner != null) {
      key.owner.use(1); // It is not destroyed before the window is unbound.
    }
    device.keys.put(key);
  }

  @Override
  public String kind() {
    return "memory window";
  }
}
