package dev.verbena.internal.io;

import dev.verbena.internal.foreign.Platform;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** An array of {@code struct epoll_event}, whose data is a number. */
final class EpollEvents {
  /** The offset of the data. The struct is packed on x86-64, and only there. */
  static final long DATA = Platform.current().isAarch64() ? 8 : 4;

  static final long SIZE = DATA + Long.BYTES;

  private EpollEvents() {}

  static int number(MemorySegment events, int index) {
    return (int) events.get(ValueLayout.JAVA_LONG_UNALIGNED, index * SIZE + DATA);
  }

  static void number(MemorySegment events, int index, int number) {
    events.set(ValueLayout.JAVA_LONG_UNALIGNED, index * SIZE + DATA, number);
  }

  static int events(MemorySegment array, int index) {
    return array.get(ValueLayout.JAVA_INT_UNALIGNED, index * SIZE);
  }

  static void copy(MemorySegment array, int from, int to) {
    MemorySegment.copy(array, from * SIZE, array, to * SIZE, SIZE);
  }
}
