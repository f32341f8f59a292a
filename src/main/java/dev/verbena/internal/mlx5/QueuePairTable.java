package dev.verbena.internal.mlx5;

import org.jspecify.annotations.Nullable;

/** The queue pairs of a completion queue by number: a hash table with linear probing. */
final class QueuePairTable {
  private static final int SMALLEST = 4;

  /** A power of two, at least twice the number of queue pairs. */
  private @Nullable Mlx5QueuePair[] slots = new Mlx5QueuePair[SMALLEST];

  private int count;

  /** Returns the queue pair with a number; null if there is none. */
  @Nullable Mlx5QueuePair find(int number) {
    for (int i = number; ; i++) {
      Mlx5QueuePair queuePair = slots[i & (slots.length - 1)];
      if (queuePair == null || queuePair.number() == number) {
        return queuePair;
      }
    }
  }

  /** Adds a queue pair, of whose number there is none. */
  void add(Mlx5QueuePair queuePair) {
    if (2 * (count + 1) > slots.length) {
      @Nullable Mlx5QueuePair[] before = slots;
      slots = new Mlx5QueuePair[2 * before.length];
      for (Mlx5QueuePair other : before) {
        if (other != null) {
          insert(other);
        }
      }
    }
    insert(queuePair);
    count++;
  }

  /** Removes a queue pair that is there, without an allocation, which could fail. */
  void remove(Mlx5QueuePair queuePair) {
    int i = queuePair.number();
    while (slots[i & (slots.length - 1)] != queuePair) {
      i++;
    }
    slots[i & (slots.length - 1)] = null;
    count--;
    for (i++; slots[i & (slots.length - 1)] != null; i++) { // Those that had to go further.
      Mlx5QueuePair other = slots[i & (slots.length - 1)];
      slots[i & (slots.length - 1)] = null;
      insert(other);
    }
  }

  private void insert(Mlx5QueuePair queuePair) {
    int i = queuePair.number();
    while (slots[i & (slots.length - 1)] != null) {
      i++;
    }
    slots[i & (slots.length - 1)] = queuePair;
  }
}
