package dev.verbena.verbs;

import dev.verbena.raw.ibv_rss_caps;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * What a device can do to spread received packets over queues: {@code struct ibv_rss_caps}.
 *
 * @param types for which queue pairs, by {@code ibv_is_qpt_supported}
 * @param maxTables how many indirection tables there can be
 * @param maxTableSize how many queues a table can name
 * @param fields the packet fields that can be hashed
 * @param functions the hash functions
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
        Flags.of(ReceiveHashField.class, ibv_rss_caps.rx_hash_fields_mask(caps)),
        Flags.of(ReceiveHashFunction.class, ibv_rss_caps.rx_hash_function(caps)));
  }
}
