package dev.verbena.aeron;

import dev.verbena.verbs.Resource;
import java.util.ArrayDeque;

/** RDMA objects that are closed together, the last one first. */
final class OpenObjects implements AutoCloseable {
  private final ArrayDeque<Resource> objects = new ArrayDeque<>();

  <T extends Resource> T add(T object) {
    objects.push(object);
    return object;
  }

  /** Hands the objects over to a new owner, so that {@link #close} closes none. */
  OpenObjects handOver() {
    OpenObjects owner = new OpenObjects();
    owner.objects.addAll(objects);
    objects.clear();
    return owner;
  }

  @Override
  public void close() {
    Resource last = objects.poll();
    if (last != null) {
      OpenObjects others = this;
      try (others) { // Whether or not the last one can be closed.
        last.close();
      }
    }
  }
}
