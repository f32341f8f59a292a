package dev.verbena.verbs;

import dev.verbena.internal.life.Core;
import dev.verbena.internal.rules.AccessRules;
import dev.verbena.values.AccessFlag;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A change of a memory region: of its memory, its protection domain, its access flags, or of
 * several of them in one call ({@code ibv_rereg_mr}). What is not set stays as it is.
 *
 * {@snippet :
 * region.reregister().memory(larger).access(LOCAL_WRITE, REMOTE_WRITE).apply();
 * }
 *
 * <p>See {@code ibv_rereg_mr(3)}.
 */
public final class MemoryReregistration {
  private final MemoryRegion region;
  private @Nullable MemorySegment memory;
  private @Nullable ProtectionDomain domain;
  private @Nullable Set<AccessFlag> access;

  MemoryReregistration(MemoryRegion region) {
    this.region = region;
  }

  /**
   * Changes the memory: {@code IBV_REREG_MR_CHANGE_TRANSLATION}. The region then starts at the
   * address of the memory, also with {@link AccessFlag#ZERO_BASED}.
   *
   * @param memory native memory, which may be a part of the present one
   * @return this
   */
  public MemoryReregistration memory(MemorySegment memory) {
    this.memory = Objects.requireNonNull(memory, "memory");
    return this;
  }

  /**
   * Changes the protection domain: {@code IBV_REREG_MR_CHANGE_PD}.
   *
   * @param domain a domain of the same context
   * @return this
   */
  public MemoryReregistration domain(ProtectionDomain domain) {
    Core.requireSame(region.domain().context(), domain, domain.context());
    this.domain = domain;
    return this;
  }

  /**
   * Changes the access flags: {@code IBV_REREG_MR_CHANGE_ACCESS}.
   *
   * @param first an allowed operation besides local reads
   * @param others further allowed operations
   * @return this
   */
  public MemoryReregistration access(AccessFlag first, AccessFlag... others) {
    return access(EnumSet.of(first, others));
  }

  /**
   * Changes the access flags: {@code IBV_REREG_MR_CHANGE_ACCESS}.
   *
   * @param access the allowed operations besides local reads; an empty set allows local reads only
   * @return this
   */
  public MemoryReregistration access(Set<AccessFlag> access) {
    this.access = Set.copyOf(access);
    return this;
  }

  /**
   * Changes the region: {@code ibv_rereg_mr}. Nothing may use the region during the call, and its
   * keys may be others afterwards.
   *
   * @throws IllegalStateException if nothing is to be changed; if the region is closed, or cannot
   *     be used since an earlier change failed
   * @throws IllegalArgumentException if the flags contradict each other, or do not fit the memory
   * @throws dev.verbena.VerbsException if the call fails. The message says whether the region is
   *     unchanged, or cannot be used any more, as after every failure of the kernel; it must still
   *     be closed, and its old and new memory are kept until then
   */
  public void apply() {
    if (memory == null && domain == null && access == null) {
      throw new IllegalStateException(
          "nothing to change: set the memory, the protection domain or the access flags");
    }
    Set<AccessFlag> flags = access == null ? region.access() : access;
    AccessRules.check(flags);
    if (memory != null) {
      AccessRules.checkRegistrable(memory, flags);
    } else {
      AccessRules.checkWritable(region.memory(), flags);
    }
    region.reregister(memory, domain, access);
  }
}
