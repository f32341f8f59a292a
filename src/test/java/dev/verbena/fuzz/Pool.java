package dev.verbena.fuzz;

import dev.verbena.soft.SoftHosts;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Resource;
import java.nio.channels.Channel;
import java.nio.channels.Selector;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** Objects that calls returned, to be used by further calls; of each class a limited number. */
final class Pool {
  private static final int EACH = 10;

  /** Of objects that have memory and threads of their own. */
  private static final int FEW = 6;

  private final Map<Class<?>, List<Object>> objects = new HashMap<>();

  /** Adds an object that is not there yet; returns one that has to leave for it, or null. */
  @SuppressWarnings("ReferenceEquality") // Records that are equal are different arguments, too.
  synchronized Object add(Object object, Random random) {
    List<Object> same = objects.computeIfAbsent(object.getClass(), c -> new ArrayList<>());
    for (Object other : same) {
      if (other == object) {
        return null;
      }
    }
    same.add(object);
    int limit = isLarge(object) ? FEW : EACH;
    return same.size() <= limit ? null : same.remove(victim(same, random));
  }

  private static boolean isLarge(Object object) {
    return object instanceof Context || isNetwork(object);
  }

  /** Whether an object has devices, whose objects are closed before. */
  static boolean isNetwork(Object object) {
    return object instanceof SoftNetwork || object instanceof SoftHosts;
  }

  private static int victim(List<Object> objects, Random random) {
    for (int i = 0; i < objects.size() - 1; i++) {
      if (!isOpen(objects.get(i))) {
        return i;
      }
    }
    return random.nextInt(objects.size() - 1);
  }

  private static boolean isOpen(Object object) {
    return switch (object) {
      case Resource resource -> resource.isOpen();
      case Channel channel -> channel.isOpen();
      case Selector selector -> selector.isOpen();
      default -> true;
    };
  }

  /** Some object of a type, mostly an open one; null if there is none. */
  synchronized Object pick(Class<?> type, Random random) {
    List<Object> found = new ArrayList<>();
    boolean open = random.nextInt(100) < 85;
    for (Map.Entry<Class<?>, List<Object>> entry : objects.entrySet()) {
      if (type.isAssignableFrom(entry.getKey())) {
        for (Object object : entry.getValue()) {
          if (!open || isOpen(object)) {
            found.add(object);
          }
        }
      }
    }
    return found.isEmpty() ? null : found.get(random.nextInt(found.size()));
  }

  /** How many objects of a class are open. */
  synchronized int open(Class<?> type) {
    return (int) objects.getOrDefault(type, List.of()).stream().filter(Pool::isOpen).count();
  }

  /** Everything that can be closed; forgets all. */
  synchronized List<AutoCloseable> drain() {
    List<AutoCloseable> all = new ArrayList<>();
    objects.values().stream()
        .flatMap(List::stream)
        .filter(AutoCloseable.class::isInstance)
        .forEach(object -> all.add((AutoCloseable) object));
    objects.clear();
    return all;
  }
}
