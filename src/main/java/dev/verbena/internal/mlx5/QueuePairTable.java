package dev.verbena.internal.mlx5;

import org.jspecify.annotations.Nullable;

/** The queue pairs of a completion queue by number: a hash table with linear probing. */
final class QueuePairTable {
  private static final int SMALLEST = 4;

  /** A power of two, at least twice the number of queue pairs. */
  private @Nullable QueuePair[] slots = new QueuePair[SMALLEST];

  private int count;

  /** Returns the queue pair with a number; null if there is none. */
  @Nullable QueuePair find(int number) {
    for (int i = number; ; i++) {
      QueuePair queuePair = slots[i & (slots.length - 1)];
      if (queuePair == null || queuePair.number() == number) {
        return queuePair;
      }
    }
  }

  /** Adds a queue pair, of whose number there is none. */
  void add(QueuePair queuePair) {
    if (2 * (count + 1) > slots.length) {
      @Nullable QueuePair[] before = slots;
      slots = new QueuePair[2 * before.length];
      for (QueuePair other : before) {
        if (other != null) {
          insert(other);
        }
      }
    }
    insert(queuePair);
    count++;
  }

  /** Removes a queue pair that is there, without an allocation, which could fail. */
  void remove(QueuePair queuePair) {
    int i = queuePair.number();
    while (slots[i & (slots.length - 1)] != queuePair) {
      i++;
    }
    slots[i & (slots.length - 1)] = null;
    count--;
    for (i++; slots[i & (slots.length - 1)] != null; i++) { // Those that had to go further.
      QueuePair other = slots[i & (slots.length - 1)];
      slots[i & (slots.length - 1)] = null;
      insert(other);
    }
  }

  private void insert(QueuePair queuePair) {
    int i = queuePair.number();
    while (slots[i & (slots.length - 1)] != null) {
      i++;
    }
    slots[i & (slots.length - 1)] = queuePair;
  }
}
