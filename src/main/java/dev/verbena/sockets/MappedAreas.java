package dev.verbena.sockets;

import dev.verbena.RdmaException;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.SocketException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/** The memory that a stream lets its peer write to ({@code riomap}). Guarded by the stream. */
final class MappedAreas implements AutoCloseable {
  /**
   * Memory that is mapped.
   *
   * @param index the entry of the peer's table
   */
  record Area(MemorySegment memory, MemoryRegion region, long offset, int index) {}

  private final ProtectionDomain domain;
  private final List<Area> all = new ArrayList<>();

  /** Those that the peer has not been told of. */
  private final Deque<Area> untold = new ArrayDeque<>();

  /** The number of areas that the peer maps at most. */
  private int most;

  MappedAreas(ProtectionDomain domain) {
    this.domain = domain;
  }

  /** Sets the number of areas that the peer maps at most. */
  void begin(int areas) {
    most = areas;
  }

  /** Maps memory. */
  void add(MemorySegment memory, long offset) throws IOException {
    int index = 0;
    while (index < most && isUsed(index)) {
      index++;
    }
    if (index == most) {
      throw new SocketException(
          "the peer maps at most %d areas: it must set RDMA_IOMAPSIZE before it connects"
              .formatted(most));
    }
    try {
      MemoryRegion region =
          domain.registerMemory(memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      Area added = new Area(memory, region, offset, index);
      all.add(added);
      untold.add(added);
    } catch (RdmaException e) {
      throw Failures.of(e);
    }
  }

  private boolean isUsed(int index) {
    return all.stream().anyMatch(area -> area.index == index);
  }

  /** Ends the access of the peer to memory. */
  void remove(MemorySegment memory) throws IOException {
    Area removed =
        all.stream()
            .filter(area -> area.memory.equals(memory))
            .findFirst()
            .orElseThrow(
                () ->
                    new SocketException(
                        "the memory is not mapped: unmap takes what map was given"));
    all.remove(removed);
    untold.remove(removed);
    try {
      removed.region.close();
    } catch (RdmaException e) {
      throw Failures.of(e);
    }
  }

  boolean hasUntold() {
    return !untold.isEmpty();
  }

  Area nextUntold() {
    return untold.remove();
  }

  @Override
  public void close() {
    all.forEach(area -> area.region.close());
    all.clear();
    untold.clear();
  }
}
