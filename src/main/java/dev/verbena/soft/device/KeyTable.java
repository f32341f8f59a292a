package dev.verbena.soft.device;

import dev.verbena.soft.wire.IntMap;
import java.util.ArrayDeque;

/**
 * The local and remote keys of a device. The upper 24 bits of a key are an index; the lower 8 make
 * the keys that an index has had one after the other different.
 */
public final class KeyTable {
  /** The number of indices that must be free before one is used again. */
  private static final int REST = 1024;

  private final IntMap<MemoryKey> keys = new IntMap<>();
  private final ArrayDeque<Integer> free = new ArrayDeque<>();
  private int next = 0x10;

  /** A key that identifies nothing. */
  public int reserve() {
    return free.size() > REST ? (free.remove() & ~0xff) | 0x01 : (next++ << 8) | 0x01;
  }

  /** Gives a reserved key back. */
  public void release(int key) {
    keys.remove(key);
    free.add(key);
  }

  public void put(MemoryKey key) {
    keys.put(key.key, key);
  }

  /** Makes a key invalid. */
  void remove(int key) {
    keys.remove(key);
  }

  /** Returns the memory that a key identifies, or null. */
  public MemoryKey get(int key) {
    return keys.get(key);
  }
}
