package dev.verbena.soft;

/** A memory window. */
final class SoftWindow extends SoftObject {
  final SoftDomain domain;
  final int type;

  /** The region that it is bound to, or null. */
  SoftRegion region;

  /** The key under which it is bound. */
  int boundKey;

  SoftWindow(SoftDomain domain, CStruct struct, int type) {
    super(domain.device, struct);
    this.domain = domain;
    this.type = type;
  }

  int key() {
    return struct.getInt("rkey");
  }

  /** Ends the binding. */
  void unbind() {
    if (region != null) {
      device.keys.remove(boundKey);
      region.users--;
      region = null;
    }
  }

  /** Binds it to a part of a region, under a key. */
  void bind(SoftRegion to, MemoryKey key) {
    unbind();
    region = to;
    boundKey = key.key;
    to.users++;
    device.keys.put(key);
  }
}
