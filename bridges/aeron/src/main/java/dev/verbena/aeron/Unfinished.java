package dev.verbena.aeron;

import dev.verbena.verbs.Resource;
import java.util.ArrayDeque;

/** Objects that are closed, the last one first, unless they are kept. */
final class Unfinished implements AutoCloseable {
  private final ArrayDeque<Resource> objects = new ArrayDeque<>();

  <T extends Resource> T add(T object) {
    objects.push(object);
    return object;
  }

  void keep() {
    objects.clear();
  }

  @Override
  public void close() {
    RuntimeException failure = null;
    for (Resource object : objects) {
      try {
        object.close();
      } catch (RuntimeException e) {
        if (failure == null) {
          failure = e;
        } else {
          failure.addSuppressed(e);
        }
      }
    }
    if (failure != null) {
      throw failure;
    }
  }
}
