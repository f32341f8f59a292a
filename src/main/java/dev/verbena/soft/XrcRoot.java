package dev.verbena.soft;

/** The state that XRC domains share which were opened with one file. */
final class XrcRoot {
  /** What identifies the file, or null for a domain of its own. */
  final Object file;

  int opened;

  private final IntMap<SoftSharedQueue> queues = new IntMap<>();

  XrcRoot(Object file) {
    this.file = file;
  }

  void add(SoftSharedQueue queue) {
    queues.put(queue.number, queue);
  }

  void remove(SoftSharedQueue queue) {
    queues.remove(queue.number);
  }

  /** The shared receive queue with a number, or null. */
  SoftSharedQueue queue(int number) {
    return queues.get(number);
  }
}
