package dev.verbena.verbs;

import dev.verbena.NativeFlag;
import dev.verbena.internal.Ranges;
import dev.verbena.internal.foreign.KeptMemory;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.life.ObjectText;
import dev.verbena.internal.rules.AccessRules;
import dev.verbena.values.AccessFlag;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Set;

/**
 * Memory that was allocated by the provider, in the way that suits the protection domain, for
 * example in a confidential virtual machine: {@code struct ibv_buf}. Requires rdma-core 64. Get one
 * with {@link #allocate}.
 *
 * <p>Closing it first closes its memory regions, then calls {@code ibv_free_buf}.
 */
public final class ProviderBuffer extends Resource {
  private final ProtectionDomain domain;
  private final MemorySegment memory;

  private ProviderBuffer(ProtectionDomain domain, Core core, MemorySegment memory) {
    super(core);
    this.domain = domain;
    this.memory = memory;
  }

  /**
   * Allocates memory with the allocator of the provider: {@code ibv_alloc_buf}.
   *
   * @param domain the protection domain
   * @param size the size in bytes
   * @return the buffer, to be closed
   */
  public static ProviderBuffer allocate(ProtectionDomain domain, long size) {
    var _ = Ranges.positive(size, "size of the buffer");
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment buffer = arena.allocate(ValueLayout.JAVA_LONG);
      Arena lifetime = Arena.ofShared();
      long[] memory = new long[1];
      return Core.make(
          List.of(domain),
          () -> {
            memory[0] = domain.verbs().ibv_alloc_buf(domain.address(), size, buffer.address());
            return buffer.get(ValueLayout.JAVA_LONG, 0);
          },
          address -> {
            lifetime.close();
            domain.verbs().ibv_free_buf(address);
          },
          core -> new ProviderBuffer(domain, core, Memory.at(memory[0], size, lifetime)));
    }
  }

  /**
   * Returns the memory.
   *
   * @return a segment that is accessible until the buffer is closed
   */
  public MemorySegment memory() {
    core.requireOpen();
    return memory;
  }

  /**
   * Registers the whole buffer: {@code ibv_reg_buf_mr}.
   *
   * @param access the allowed operations besides local reads
   * @return the region, to be closed
   */
  public MemoryRegion register(AccessFlag... access) {
    return register(0, memory().byteSize(), access);
  }

  /**
   * Registers a range of the buffer: {@code ibv_reg_buf_mr}.
   *
   * @param offset the offset of the range in bytes
   * @param size the size of the range in bytes
   * @param access the allowed operations besides local reads
   * @return the region, to be closed
   */
  public MemoryRegion register(long offset, long size, AccessFlag... access) {
    Set<AccessFlag> flags = Set.copyOf(List.of(access));
    MemorySegment part = part(offset, size);
    AccessRules.check(flags);
    AccessRules.checkRegistrable(part, flags);
    long start = flags.contains(AccessFlag.ZERO_BASED) ? 0 : part.address();
    return MemoryRegion.register(
        List.of(domain, this),
        domain,
        () ->
            domain
                .verbs()
                .ibv_reg_buf_mr(
                    domain.address(),
                    address(),
                    part.address(),
                    size,
                    (int) NativeFlag.mask(flags)),
        KeptMemory.notKept(part),
        start,
        size,
        flags);
  }

  /**
   * {@return a builder of the registration of a range of the buffer: {@code ibv_reg_mr_ex}}
   *
   * @param offset the offset of the range in bytes
   * @param size the size of the range in bytes
   */
  public MemoryRegistration registration(long offset, long size) {
    return MemoryRegistration.ofBuffer(domain, this, part(offset, size));
  }

  private MemorySegment part(long offset, long size) {
    MemorySegment whole = memory();
    return whole.asSlice(Ranges.within(this, offset, size, whole.byteSize()), size);
  }

  /**
   * Exports the buffer as a DMA buffer: {@code ibv_export_buf_dmabuf_fd}. Requires rdma-core 65.
   *
   * @return the DMA buffer, to be closed
   * @throws dev.verbena.VerbsException ENODATA if the buffer is ordinary memory
   */
  public DmaBuf exportDmaBuf() {
    return DmaBuf.of(core.whileOpen(() -> domain.verbs().ibv_export_buf_dmabuf_fd(address())));
  }

  /** {@return the protection domain of the buffer} */
  public ProtectionDomain domain() {
    return domain;
  }

  @Override
  public String toString() {
    return ObjectText.of(
        core,
        "provider buffer of " + domain.context().device(),
        memory.byteSize() + " bytes at 0x" + Long.toHexString(memory.address()));
  }
}
