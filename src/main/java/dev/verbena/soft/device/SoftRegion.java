package dev.verbena.soft.device;

import dev.verbena.raw.ibv_mr;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** A memory region. */
public final class SoftRegion extends SoftObject {
  private SoftDomain domain;

  /** Null once the region was deregistered: a request that was posted before may refer to it. */
  public @Nullable MemoryKey local;

  /** Null for a null region, too. */
  public @Nullable MemoryKey remote;

  /** Device memory or a buffer that the region is part of, or null. */
  public final @Nullable SoftObject backing;

  public SoftRegion(SoftDomain domain, @Nullable SoftObject backing) {
    super(domain.context, domain.struct(ibv_mr.layout()), domain, backing);
    this.domain = domain;
    this.backing = backing;
  }

  public SoftDomain domain() {
    return domain;
  }

  /** Moves it to another domain. */
  public void domain(SoftDomain other) {
    useInstead(domain, other);
    domain = other;
    struct.putLong("pd", other.address());
  }

  /** Makes its keys invalid. */
  public void releaseKeys() {
    device.keys.release(local.key);
    if (remote != null) {
      device.keys.release(remote.key);
    }
  }

  @Override
  protected void end() {
    releaseKeys();
    local = null;
    remote = null;
  }

  /** Takes over the segment that was registered, unless the region was deregistered meanwhile. */
  public void hold(MemorySegment memory) {
    if (local != null && remote != null) {
      local.hold(memory);
      remote.hold(memory);
    }
  }

  @Override
  public String kind() {
    return "memory region";
  }
}
