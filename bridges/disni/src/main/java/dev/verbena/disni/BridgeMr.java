package dev.verbena.disni;

import com.ibm.disni.verbs.IbvContext;
import com.ibm.disni.verbs.IbvMr;
import dev.verbena.verbs.MemoryAdvice;
import dev.verbena.verbs.MemoryRegion;
import java.io.IOException;

/** A memory region. */
final class BridgeMr extends IbvMr {
  private final MemoryRegion region;

  BridgeMr(IbvContext context, MemoryRegion region, int access) throws IOException {
    super(
        context,
        region.start(),
        (int) region.length(),
        access,
        region.lkey(),
        region.rkey(),
        region.handle());
    this.region = region;
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
    close();
  }
}
