package dev.verbena.soft;

import java.lang.foreign.MemorySegment;

/** A memory region. */
final class SoftRegion extends SoftObject {
  SoftDomain domain;

  /** Null once the region was deregistered: a request that was posted before may refer to it. */
  MemoryKey local;

  MemoryKey remote;

  /** Device memory or a buffer that the region is part of, or null. */
  final SoftObject backing;

  SoftRegion(SoftDomain domain, CStruct struct, SoftObject backing) {
    super(domain.device, struct);
    this.domain = domain;
    this.backing = backing;
  }

  /** Takes over the segment that was registered. */
  void hold(MemorySegment memory) {
    local.hold(memory);
    remote.hold(memory);
  }

  @Override
  String kind() {
    return "memory region";
  }
}
