package dev.verbena.soft.device;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** A memory region. */
public final class SoftRegion extends SoftObject {
  public SoftDomain domain;

  /** Null once the region was deregistered: a request that was posted before may refer to it. */
  public @Nullable MemoryKey local;

  /** Null for a null region, too. */
  public @Nullable MemoryKey remote;

  /** Device memory or a buffer that the region is part of, or null. */
  public final @Nullable SoftObject backing;

  public SoftRegion(SoftDomain domain, CStruct struct, @Nullable SoftObject backing) {
    super(domain.device, struct);
    this.domain = domain;
    this.backing = backing;
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
