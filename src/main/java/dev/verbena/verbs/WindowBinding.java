package dev.verbena.verbs;

import dev.verbena.NativeFlag;
import dev.verbena.raw.ibv_mw_bind_info;
import dev.verbena.values.AccessFlag;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * The binding of a memory window: the range of a region that the remote side can access, and its
 * access flags ({@code struct ibv_mw_bind_info}).
 *
 * @param region a region with {@link AccessFlag#MW_BIND}
 * @param offset the offset of the range in the region, in bytes
 * @param length the length of the range in bytes
 * @param access any of {@link AccessFlag#REMOTE_READ}, {@link AccessFlag#REMOTE_WRITE}, {@link
 *     AccessFlag#REMOTE_ATOMIC} and {@link AccessFlag#ZERO_BASED}
 */
public record WindowBinding(MemoryRegion region, long offset, long length, Set<AccessFlag> access) {
  private static final Set<AccessFlag> POSSIBLE =
      Set.of(
          AccessFlag.REMOTE_READ,
          AccessFlag.REMOTE_WRITE,
          AccessFlag.REMOTE_ATOMIC,
          AccessFlag.ZERO_BASED);

  /**
   * Creates a binding.
   *
   * @throws IllegalArgumentException if the region or the flags do not allow it
   * @throws IndexOutOfBoundsException if the range is not inside the region
   */
  public WindowBinding {
    access = Set.copyOf(access);
    region.addressOf(offset, length);
    if (!region.access().contains(AccessFlag.MW_BIND)) {
      throw new IllegalArgumentException(region + " was registered without MW_BIND");
    }
    for (AccessFlag flag : access) {
      if (!POSSIBLE.contains(flag)) {
        throw new IllegalArgumentException("a memory window cannot have " + flag);
      }
    }
    boolean writes =
        access.contains(AccessFlag.REMOTE_WRITE) || access.contains(AccessFlag.REMOTE_ATOMIC);
    if (writes && !region.access().contains(AccessFlag.LOCAL_WRITE)) {
      throw new IllegalArgumentException(
          access + " through a window requires LOCAL_WRITE on " + region);
    }
  }

  /**
   * Writes the binding into the {@code bind_info} of a request.
   *
   * @param info a {@code struct ibv_mw_bind_info}
   */
  void writeTo(MemorySegment info) {
    ibv_mw_bind_info.mr(info, region.segment());
    ibv_mw_bind_info.addr(info, region.addressOf(offset, length));
    ibv_mw_bind_info.length(info, length);
    ibv_mw_bind_info.mw_access_flags(info, accessMask());
  }

  int accessMask() {
    return (int) NativeFlag.mask(access);
  }
}
