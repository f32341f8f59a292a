package dev.verbena.soft.wire;

import org.jspecify.annotations.Nullable;

/** A hash map with int keys, whose look-up does not allocate. */
public final class IntMap<V> {
  private int[] keys = new int[16];
  private Object[] values = new Object[16];
  private int size;

  /** The slot of a key if no other key were there. */
  private int home(int key) {
    return (key * 0x9e3779b9) >>> 8 & (keys.length - 1);
  }

  private int after(int slot) {
    return (slot + 1) & (keys.length - 1);
  }

  private int slot(int key) {
    int at = home(key);
    while (values[at] != null && keys[at] != key) {
      at = after(at);
    }
    return at;
  }

  /** The value of a key, or null. */
  @SuppressWarnings("unchecked")
  public @Nullable V get(int key) {
    return (V) values[slot(key)];
  }

  public void put(int key, V value) {
    if (2 * (size + 1) > keys.length) {
      rehash(2 * keys.length);
    }
    int at = slot(key);
    if (values[at] == null) {
      size++;
    }
    keys[at] = key;
    values[at] = value;
  }

  public void remove(int key) {
    int at = slot(key);
    if (values[at] != null) {
      values[at] = null;
      size--;
      closeGap(at);
    }
  }

  /** Moves entries back that could not be found beyond an empty slot. */
  private void closeGap(int empty) {
    int gap = empty;
    for (int at = after(gap); values[at] != null; at = after(at)) {
      int mask = keys.length - 1;
      boolean passesGap = ((at - home(keys[at])) & mask) >= ((at - gap) & mask);
      if (passesGap) {
        keys[gap] = keys[at];
        values[gap] = values[at];
        values[at] = null;
        gap = at;
      }
    }
  }

  private void rehash(int length) {
    int[] oldKeys = keys;
    Object[] oldValues = values;
    int[] newKeys = new int[length];
    values = new Object[length]; // If there is no memory for both, nothing has changed.
    keys = newKeys;
    for (int i = 0; i < oldKeys.length; i++) {
      if (oldValues[i] != null) {
        int at = slot(oldKeys[i]);
        keys[at] = oldKeys[i];
        values[at] = oldValues[i];
      }
    }
  }

  int size() {
    return size;
  }
}
