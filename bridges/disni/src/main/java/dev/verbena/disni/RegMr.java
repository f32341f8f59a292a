package dev.verbena.disni;

import com.ibm.disni.verbs.IbvMr;
import com.ibm.disni.verbs.SVCRegMr;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.Set;

/** The registration of memory, to be executed. */
final class RegMr extends SVCRegMr {
  private final BridgePd pd;
  private final MemorySegment memory;
  private final int access;
  private final Set<AccessFlag> flags;
  private boolean valid = true;
  private BridgeMr mr;

  RegMr(BridgePd pd, MemorySegment memory, int access) throws IOException {
    this.pd = pd;
    this.memory = memory;
    this.access = access;
    this.flags = flags(access);
  }

  private static Set<AccessFlag> flags(int bits) throws IOException {
    Set<AccessFlag> flags = EnumSet.noneOf(AccessFlag.class);
    long rest = bits;
    for (AccessFlag flag : AccessFlag.values()) {
      if ((bits & flag.bit()) != 0) {
        flags.add(flag);
        rest &= ~flag.bit();
      }
    }
    if (rest != 0) {
      throw new IOException(
          "unknown access flags 0x" + Long.toHexString(rest) + ": use those of IbvMr");
    }
    return flags;
  }

  @Override
  public SVCRegMr execute() throws IOException {
    Call.requireValid(valid, "registration");
    BridgePd.of(pd);
    MemoryRegion region = Failures.io(() -> pd.domain().registerMemory(memory, flags));
    mr = new BridgeMr(pd, region, access);
    return this;
  }

  @Override
  public IbvMr getMr() {
    return mr;
  }

  @Override
  public boolean isValid() {
    return valid;
  }

  @Override
  public SVCRegMr free() {
    valid = false;
    return this;
  }
}
