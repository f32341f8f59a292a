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

  /** Adds a queue pair; it replaces one with its number, whose destruction was not noticed. */
  void add(QueuePair queuePair) {
    QueuePair before = find(queuePair.number());
    if (before != null) {
      remove(before);
    }
    if (2 * ++count > slots.length) {
      rebuild(2 * slots.length, null);
    }
    insert(queuePair);
  }

  /** Removes a queue pair, if it is there. */
  void remove(QueuePair queuePair) {
    rebuild(slots.length, queuePair);
  }

  private void rebuild(int size, @Nullable QueuePair without) {
    @Nullable QueuePair[] before = slots;
    slots = new QueuePair[size];
    for (QueuePair queuePair : before) {
      if (queuePair != null && queuePair != without) {
        insert(queuePair);
      } else if (queuePair != null) {
        count--;
      }
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
