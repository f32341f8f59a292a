package dev.verbena.soft.cm;

import dev.verbena.internal.io.EventFile;
import dev.verbena.raw.rdma_event_channel;
import dev.verbena.soft.device.CStruct;
import java.util.ArrayDeque;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * An event channel of RDMA CM: a {@code struct rdma_event_channel}, whose descriptor is readable
 * while there are events.
 */
public final class CmChannel {
  final CStruct struct;
  private final EventFile file = EventFile.open();

  /** Guarded by the network's lock. */
  private final ArrayDeque<CmEvent> events = new ArrayDeque<>();

  /** Guarded by the network's lock. */
  private boolean isClosed;

  CmChannel() {
    struct = CStruct.allocate(rdma_event_channel.layout()).putInt("fd", file.descriptor());
  }

  public long address() {
    return struct.address();
  }

  /** Adds an event. Called under the network's lock. */
  void add(CmEvent event) {
    if (isClosed) {
      return; // The number of the descriptor may be that of another file.
    }
    events.add(event);
    file.add();
  }

  /**
   * Waits until there may be an event.
   *
   * @return 0, or the errno: EAGAIN if the descriptor is non-blocking and there is none
   */
  public int await() {
    return file.take();
  }

  /** Takes the oldest event, or null. Called under the network's lock, after {@link #await}. */
  public @Nullable CmEvent poll() {
    return events.poll();
  }

  /**
   * Takes events from wherever they are in the queue. The descriptor may stay readable for them.
   * Called under the network's lock.
   */
  List<CmEvent> remove(Predicate<CmEvent> which) {
    List<CmEvent> removed = events.stream().filter(which).toList();
    events.removeIf(which);
    return removed;
  }

  /** Closes the descriptor. Called under the network's lock. */
  void close() {
    isClosed = true;
    file.close();
  }
}
