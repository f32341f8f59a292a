package dev.verbena.verbs;

import dev.verbena.raw.ibv_rss_caps;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * The receive side scaling (RSS) capabilities of a device: {@code struct ibv_rss_caps}, with its
 * queue pair types decoded by {@code ibv_is_qpt_supported}.
 *
 * @param types the queue pair types that support RSS
 * @param maxTables the maximum number of receive work queue indirection tables
 * @param maxTableSize the maximum number of work queues in an indirection table
 * @param fields the packet fields that can be hashed
 * @param functions the supported hash functions
 */
public record RssCapabilities(
    Set<QueuePairType> types,
    int maxTables,
    int maxTableSize,
    Set<ReceiveHashField> fields,
    Set<ReceiveHashFunction> functions) {

  /** Copies the sets. */
  public RssCapabilities {
    types = Set.copyOf(types);
    fields = Set.copyOf(fields);
    functions = Set.copyOf(functions);
  }

  static RssCapabilities readFrom(MemorySegment caps) {
    return new RssCapabilities(
        QueuePairType.supported(ibv_rss_caps.supported_qpts(caps)),
        ibv_rss_caps.max_rwq_indirection_tables(caps),
        ibv_rss_caps.max_rwq_indirection_table_size(caps),
        FlagSet.of(ReceiveHashField.class, ibv_rss_caps.rx_hash_fields_mask(caps)),
        FlagSet.of(ReceiveHashFunction.class, ibv_rss_caps.rx_hash_function(caps)));
  }
}
