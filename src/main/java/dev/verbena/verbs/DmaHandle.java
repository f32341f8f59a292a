package dev.verbena.verbs;

import dev.verbena.NativeConstant;
import dev.verbena.internal.Ranges;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.life.ObjectText;
import dev.verbena.raw.ibv_dmah_init_attr;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;

/**
 * A DMA handle: hints about the placement of memory, which make DMA faster ({@code struct
 * ibv_dmah}). Requires rdma-core 59. Get one with {@link #builder}.
 *
 * <p>Closing it calls {@code ibv_dealloc_dmah}. See {@code ibv_alloc_dmah(3)}.
 */
public final class DmaHandle extends Resource {
  private final Context context;

  private DmaHandle(Context context, Core core) {
    super(core);
    this.context = context;
  }

  /**
   * {@return a builder of a DMA handle}
   *
   * @param context the context of the device
   */
  public static Builder builder(Context context) {
    context.core.requireOpen();
    return new Builder(context);
  }

  /** The memory type of TLP processing hints (TPH): {@code enum ibv_tph_mem_type}. */
  public enum MemoryType implements NativeConstant {
    /** Volatile memory. */
    VM(rdma_h.IBV_TPH_MEM_TYPE_VM()),
    /** Persistent memory. */
    PM(rdma_h.IBV_TPH_MEM_TYPE_PM());

    private final int code;

    MemoryType(int code) {
      this.code = code;
    }

    @Override
    public int code() {
      return code;
    }
  }

  /** A builder of a DMA handle: {@code struct ibv_dmah_init_attr}. */
  public static final class Builder {
    private static final int HINTS = 4;

    private final Context context;
    private int mask;
    private int cpu;
    private int hint;
    private MemoryType type = MemoryType.VM;

    private Builder(Context context) {
      this.context = context;
    }

    /**
     * Sets the processor that uses the data.
     *
     * @param cpu the number of the processor
     * @return this
     */
    public Builder cpu(int cpu) {
      this.cpu = Ranges.notNegative(cpu, "processor number");
      mask |= rdma_h.IBV_DMAH_INIT_ATTR_MASK_CPU_ID();
      return this;
    }

    /**
     * Sets the TLP processing hint of PCI Express.
     *
     * @param hint 0 (bidirectional), 1 (requester), 2 (target) or 3 (target with priority)
     * @return this
     */
    public Builder processingHint(int hint) {
      if (hint < 0 || hint >= HINTS) {
        throw new IllegalArgumentException("processing hint must be 0 to 3: " + hint);
      }
      this.hint = hint;
      mask |= rdma_h.IBV_DMAH_INIT_ATTR_MASK_PH();
      return this;
    }

    /**
     * Sets the memory type.
     *
     * @param type volatile or persistent
     * @return this
     */
    public Builder memoryType(MemoryType type) {
      this.type = Objects.requireNonNull(type, "type");
      mask |= rdma_h.IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE();
      return this;
    }

    /**
     * Creates the handle: {@code ibv_alloc_dmah}.
     *
     * @return the handle, to be closed
     */
    public DmaHandle create() {
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment attr = ibv_dmah_init_attr.allocate(arena);
        ibv_dmah_init_attr.comp_mask(attr, mask);
        ibv_dmah_init_attr.cpu_id(attr, cpu);
        ibv_dmah_init_attr.ph(attr, (byte) hint);
        ibv_dmah_init_attr.tph_mem_type(attr, (byte) type.code());
        return Core.make(
            List.of(context),
            () -> context.verbs().ibv_alloc_dmah(context.address(), attr.address()),
            context.verbs()::ibv_dealloc_dmah,
            core -> new DmaHandle(context, core));
      }
    }
  }

  /** {@return the context of the handle} */
  public Context context() {
    return context;
  }

  @Override
  public String toString() {
    return ObjectText.of(core, "DMA handle of " + context.device());
  }
}
