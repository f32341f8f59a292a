package dev.verbena.attributes;

import dev.verbena.FlagSet;
import dev.verbena.internal.AttributeText;
import dev.verbena.raw.ibv_rss_caps;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.ReceiveHashField;
import dev.verbena.values.ReceiveHashFunction;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * The receive side scaling (RSS) capabilities of a device: {@code struct ibv_rss_caps}, with its
 * queue pair types decoded by {@code ibv_is_qpt_supported}.
 */
public final class RssCapabilities {
  private final MemorySegment struct;

  /** Keeps a struct that is not written to any more. */
  RssCapabilities(MemorySegment struct) {
    this.struct = struct;
  }

  /** {@return the queue pair types that support RSS} */
  public Set<QueuePairType> types() {
    return QueuePairType.supported(ibv_rss_caps.supported_qpts(struct));
  }

  /**
   * {@return the maximum number of receive work queue indirection tables; 0 if RSS is not
   * supported}
   */
  public int maxTables() {
    return ibv_rss_caps.max_rwq_indirection_tables(struct);
  }

  /** {@return the maximum number of work queues in an indirection table} */
  public int maxTableSize() {
    return ibv_rss_caps.max_rwq_indirection_table_size(struct);
  }

  /** {@return the packet fields that can be hashed} */
  public FlagSet<ReceiveHashField> fields() {
    return FlagSet.of(ReceiveHashField.class, ibv_rss_caps.rx_hash_fields_mask(struct));
  }

  /** {@return the supported hash functions} */
  public FlagSet<ReceiveHashFunction> functions() {
    return FlagSet.of(
        ReceiveHashFunction.class, Byte.toUnsignedLong(ibv_rss_caps.rx_hash_function(struct)));
  }

  @Override
  public String toString() {
    return new AttributeText(RssCapabilities.class)
        .add("types", types())
        .add("maxTables", maxTables())
        .add("maxTableSize", maxTableSize())
        .add("fields", fields())
        .add("functions", functions())
        .toString();
  }
}
