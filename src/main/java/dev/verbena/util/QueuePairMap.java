package dev.verbena.util;

import dev.verbena.verbs.Completions;
import dev.verbena.verbs.QueuePair;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A map from queue pair numbers to objects of the program, for completion queues and shared receive
 * queues that several queue pairs use.
 *
 * {@snippet :
 * Client client = clients.get(completions.queuePairNumber(i));
 * }
 *
 * <p>{@link #get} allocates nothing and takes no lock. Any thread may call any method.
 *
 * @param <T> the type of the objects
 */
public final class QueuePairMap<T> {
  private static final int SMALLEST = 16;

  /** Numbers and objects at the same index; not changed once it is published. */
  private record Table(int[] numbers, @Nullable Object[] objects) {
    static Table of(int size) {
      return new Table(new int[size], new Object[size]);
    }

    /** Returns the index of a number, or of the free place for it. */
    int find(int number) {
      int mask = numbers.length - 1;
      int index = ((number * 0x9e3779b9) >>> 7) & mask;
      while (objects[index] != null && numbers[index] != number) {
        index = (index + 1) & mask;
      }
      return index;
    }

    void add(int number, Object object) {
      int index = find(number);
      numbers[index] = number;
      objects[index] = object;
    }
  }

  private volatile Table table = Table.of(SMALLEST);
  private int size;

  /** Creates an empty map. */
  public QueuePairMap() {}

  /**
   * Returns the object of a queue pair.
   *
   * @param number the queue pair number (QPN), as {@link Completions#queuePairNumber} returns it
   * @return the object, or null if there is none
   */
  @SuppressWarnings("unchecked")
  public @Nullable T get(int number) {
    Table current = table;
    return (T) current.objects[current.find(number)];
  }

  /**
   * Adds the object of a queue pair, in place of a former one. Copies the map.
   *
   * @param queuePair the queue pair
   * @param object the object
   */
  public void put(QueuePair queuePair, T object) {
    replace(queuePair.number(), Objects.requireNonNull(object, "object"));
  }

  /**
   * Removes the object of a queue pair, if there is one. Copies the map.
   *
   * @param number the queue pair number (QPN)
   */
  public void remove(int number) {
    replace(number, null);
  }

  /** {@return the number of objects} */
  public synchronized int size() {
    return size;
  }

  private synchronized void replace(int number, @Nullable T object) {
    Table before = table;
    int length = before.numbers.length;
    Table after = Table.of(2 * (size + 1) > length ? 2 * length : length);
    int count = 0;
    for (int i = 0; i < length; i++) {
      if (before.objects[i] != null && before.numbers[i] != number) {
        after.add(before.numbers[i], before.objects[i]);
        count++;
      }
    }
    if (object != null) {
      after.add(number, object);
      count++;
    }
    size = count;
    table = after;
  }

  @Override
  public String toString() {
    return "map of " + size() + " queue pairs";
  }
}
