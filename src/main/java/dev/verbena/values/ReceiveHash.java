package dev.verbena.values;

import dev.verbena.NativeFlag;
import dev.verbena.internal.foreign.Segments;
import dev.verbena.raw.ibv_rx_hash_conf;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.ValueLayout;
import java.util.Objects;
import java.util.Set;

/**
 * The receive side scaling (RSS) hash that selects the work queue of a packet: {@code struct
 * ibv_rx_hash_conf}.
 */
public final class ReceiveHash {
  private static final int MAX_KEY = 255;

  private final ReceiveHashFunction function;
  private final byte[] key;
  private final Set<ReceiveHashField> fields;

  /**
   * Creates a hash configuration.
   *
   * @param function the hash function
   * @param key the hash key; 40 bytes for the Toeplitz function
   * @param fields the hashed packet fields; if empty, all packets go to the first queue
   */
  public ReceiveHash(ReceiveHashFunction function, byte[] key, Set<ReceiveHashField> fields) {
    if (key.length > MAX_KEY) {
      throw new IllegalArgumentException("hash key must be at most 255 bytes: " + key.length);
    }
    this.function = Objects.requireNonNull(function, "function");
    this.key = key.clone();
    this.fields = Set.copyOf(fields);
  }

  /**
   * Writes the configuration into {@code rx_hash_conf}; the key goes to memory of the allocator.
   *
   * @param conf a {@code struct ibv_rx_hash_conf}
   * @param allocator allocates the key
   */
  public void writeTo(MemorySegment conf, SegmentAllocator allocator) {
    Segments.writable(conf, ibv_rx_hash_conf.layout());
    ibv_rx_hash_conf.rx_hash_function(conf, (byte) NativeFlag.mask(function));
    ibv_rx_hash_conf.rx_hash_key_len(conf, (byte) key.length);
    ibv_rx_hash_conf.rx_hash_key(conf, allocator.allocateFrom(ValueLayout.JAVA_BYTE, key));
    ibv_rx_hash_conf.rx_hash_fields_mask(conf, NativeFlag.mask(fields));
  }

  @Override
  public String toString() {
    return function + " over " + fields + " with a key of " + key.length + " bytes";
  }
}
