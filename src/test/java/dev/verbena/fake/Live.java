package dev.verbena.fake;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;

/** The Java objects behind the pointers of one kind that are valid now. */
final class Live<T> {
  private final String kind;
  private final Map<Long, T> objects = new LinkedHashMap<>();

  Live(String kind) {
    this.kind = kind;
  }

  void add(long address, T object) {
    objects.put(address, object);
  }

  /** The object at an address; C would read freed memory where this throws. */
  T at(long address) {
    T object = objects.get(address);
    if (object == null) {
      throw new IllegalStateException("no %s at 0x%x".formatted(kind, address));
    }
    return object;
  }

  boolean contains(long address) {
    return objects.containsKey(address);
  }

  void remove(long address) {
    at(address);
    objects.remove(address);
  }

  Collection<T> all() {
    return objects.values();
  }

  @Override
  public String toString() {
    return objects.size() + " " + kind;
  }
}
