package dev.verbena.fuzz;

import java.util.Random;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLongArray;

/** Numbers that calls returned: keys, addresses and the like, which further calls may take. */
final class Harvest {
  private static final int KEPT = 64;

  private final AtomicIntegerArray integers = new AtomicIntegerArray(KEPT);
  private final AtomicLongArray numbers = new AtomicLongArray(KEPT);

  void add(Object result, Random random) {
    int slot = random.nextInt(KEPT);
    if (result instanceof Integer i) {
      integers.set(slot, i);
    } else if (result instanceof Long l) {
      numbers.set(slot, l);
    }
  }

  int integer(Random random) {
    return integers.get(random.nextInt(KEPT));
  }

  long number(Random random) {
    return numbers.get(random.nextInt(KEPT));
  }
}
