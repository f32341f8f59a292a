package dev.verbena.verbs;

import dev.verbena.internal.Memory;
import dev.verbena.raw.ibv_mr;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Set;

/** Memory that the device may use: {@code struct ibv_mr}. */
public final class MemoryRegion extends Resource {
  private final ProtectionDomain domain;
  private final MemorySegment memory;
  private final Set<AccessFlag> access;
  private final long start;
  private final long length;
  private final int lkey;
  private final int rkey;

  MemoryRegion(
      ProtectionDomain domain, long address, MemorySegment memory, Set<AccessFlag> access) {
    super(address, () -> domain.verbs().ibv_dereg_mr(address), domain);
    MemorySegment mr = Memory.at(address, ibv_mr.sizeof());
    this.domain = domain;
    this.memory = memory;
    this.access = access;
    this.start = memory.address();
    this.length = memory.byteSize();
    this.lkey = ibv_mr.lkey(mr);
    this.rkey = ibv_mr.rkey(mr);
  }

  static void checkRegistrable(MemorySegment memory, Set<AccessFlag> access) {
    if (!memory.isNative()) {
      throw new IllegalArgumentException(
          "the garbage collector moves heap memory: register native memory, such as an arena's");
    }
    if (memory.byteSize() == 0) {
      throw new IllegalArgumentException("an empty segment cannot be registered");
    }
    if (!memory.scope().isAlive()) {
      throw new IllegalStateException("the segment's arena is closed");
    }
    boolean localWrite = access.contains(AccessFlag.LOCAL_WRITE);
    for (AccessFlag flag : new AccessFlag[] {AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC}) {
      if (access.contains(flag) && !localWrite) {
        throw new IllegalArgumentException(flag + " needs LOCAL_WRITE");
      }
    }
    if (localWrite && memory.isReadOnly()) {
      throw new IllegalArgumentException("LOCAL_WRITE on a read-only segment");
    }
  }

  /**
   * The registered memory.
   *
   * @return the segment that was registered
   */
  public MemorySegment memory() {
    return memory;
  }

  /**
   * What may be done to the memory besides reading it locally.
   *
   * @return the flags it was registered with
   */
  public Set<AccessFlag> access() {
    return access;
  }

  /**
   * Where the memory starts, as peers name it.
   *
   * @return the address
   */
  public long start() {
    return start;
  }

  /**
   * How long the memory is.
   *
   * @return its size in bytes
   */
  public long length() {
    return length;
  }

  /**
   * The key that local work requests name the region by.
   *
   * @return the lkey
   */
  public int lkey() {
    return lkey;
  }

  /**
   * The key that peers name the region by.
   *
   * @return the rkey
   */
  public int rkey() {
    return rkey;
  }

  /**
   * The domain that the region belongs to.
   *
   * @return the domain
   */
  public ProtectionDomain domain() {
    return domain;
  }

  /**
   * Checks a range of the region that work requests are to name, as the data path does.
   *
   * @param offset where the range starts
   * @param size its length
   * @return the address of its first byte
   * @throws IndexOutOfBoundsException if the range leaves the region
   * @throws IllegalStateException if the region, or the arena of its memory, is closed
   */
  long addressOf(long offset, long size) {
    requireOpen();
    if (!memory.scope().isAlive()) {
      throw new IllegalStateException("the memory of " + this + " was freed before the region");
    }
    return start + Objects.checkFromIndexSize(offset, size, length);
  }

  @Override
  public String toString() {
    return "memory region 0x" + Integer.toHexString(lkey) + " of " + domain.context().device();
  }
}
