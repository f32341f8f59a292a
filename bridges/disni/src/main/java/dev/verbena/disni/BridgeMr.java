package dev.verbena.disni;

import com.ibm.disni.verbs.IbvMr;
import dev.verbena.values.MemoryAdvice;
import dev.verbena.verbs.MemoryRegion;
import java.io.IOException;

/** A memory region. */
final class BridgeMr extends IbvMr {
  private static final int REMOTE =
      IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

  private final BridgePd pd;
  private final MemoryRegion region;
  private final int localKey;
  private final int remoteKey;

  /** A region that peers may access has one key for both: {@link LocalKeys}. */
  BridgeMr(BridgePd pd, MemoryRegion region, int access) throws IOException {
    super(
        pd.getContext(),
        region.start(),
        (int) region.length(),
        access,
        (access & REMOTE) == 0 ? region.lkey() : region.rkey(),
        region.rkey(),
        region.handle());
    this.pd = pd;
    this.region = region;
    this.localKey = region.lkey();
    this.remoteKey = region.rkey();
    if (lkey != localKey) {
      pd.localKeys().add(remoteKey, localKey);
    }
  }

  /** Returns the region of a call's argument. */
  static BridgeMr of(IbvMr argument) throws IOException {
    BridgeMr own = Failures.own(BridgeMr.class, argument, "memory region");
    Failures.requireOpen(own.isOpen(), "memory region");
    return own;
  }

  /** Reads the pages of a range of on-demand memory in, to be written. */
  int prefetch(long address, int length) throws IOException {
    Failures.run(
        () -> region.advise(MemoryAdvice.PREFETCH_WRITE, address - region.start(), length));
    return 0;
  }

  void deregister() throws IOException {
    Failures.run(region::close);
    pd.localKeys().remove(remoteKey, localKey);
    close();
  }
}
