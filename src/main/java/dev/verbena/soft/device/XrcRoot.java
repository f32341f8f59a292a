package dev.verbena.soft.device;

import dev.verbena.soft.wire.IntMap;
import org.jspecify.annotations.Nullable;

/** The state that XRC domains share which were opened with one file. */
public final class XrcRoot {
  /** What identifies the file, or null for a domain of its own. */
  public final @Nullable Object file;

  /** By how many domains; the last one of a file removes it from the files. */
  public int opened;

  private final IntMap<SoftSharedQueue> queues = new IntMap<>();

  public XrcRoot(@Nullable Object file) {
    this.file = file;
  }

  public void add(SoftSharedQueue queue) {
    queues.put(queue.number, queue);
  }

  public void remove(SoftSharedQueue queue) {
    queues.remove(queue.number);
  }

  /** The shared receive queue with a number, or null. */
  public @Nullable SoftSharedQueue queue(int number) {
    return queues.get(number);
  }
}
