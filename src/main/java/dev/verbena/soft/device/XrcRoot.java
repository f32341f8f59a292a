package dev.verbena.soft.device;

import dev.verbena.soft.wire.IntMap;
import org.jspecify.annotations.Nullable;

/** The state that XRC domains share which were opened with one file. */
public final class XrcRoot {
  /** What identifies the file, or null for a domain of its own. */
  public final @Nullable Object file;

  /** By how many domains; the last one of a file removes it from the files. */
  public int opened;

  /** The shared receive queues by their numbers. */
  public final IntMap<SoftSharedQueue> queues = new IntMap<>();

  public XrcRoot(@Nullable Object file) {
    this.file = file;
  }
}
