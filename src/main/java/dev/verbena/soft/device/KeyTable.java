package dev.verbena.soft.device;

import dev.verbena.internal.time.Time;
import dev.verbena.soft.wire.IntMap;
import java.security.SecureRandom;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The local and remote keys of a device. The upper 24 bits of a key are an index, which is random:
 * no key follows from another. The lower 8 are a variant, which the program changes when it binds a
 * memory window of type 2.
 */
public final class KeyTable {
  private static final SecureRandom RANDOM = new SecureRandom();

  private final IntMap<MemoryKey> keys = new IntMap<>();
  private final Set<Integer> indices = new HashSet<>();

  /** Finish writes to memory, of which none is to come after a key became invalid. */
  public final Set<Runnable> writes = new LinkedHashSet<>();

  /** A key that identifies nothing, with an index of its own. */
  public int reserve() {
    int index;
    do {
      index = Time.random(RANDOM).nextInt(1, 1 << 24);
    } while (!indices.add(index));
    return index << 8 | Time.random(RANDOM).nextInt(1, 1 << 8);
  }

  /** Gives a reserved key back. */
  public void release(int key) {
    remove(key);
    indices.remove(key >>> 8);
  }

  public void put(MemoryKey key) {
    keys.put(key.key, key);
  }

  /** Makes a key invalid. */
  void remove(int key) {
    while (!writes.isEmpty()) {
      writes.iterator().next().run();
    }
    keys.remove(key);
  }

  /** Returns the memory that a key identifies, or null. */
  public @Nullable MemoryKey get(int key) {
    return keys.get(key);
  }
}
