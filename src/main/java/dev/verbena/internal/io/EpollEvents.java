package dev.verbena.internal.io;

import dev.verbena.internal.foreign.Libc;
import dev.verbena.internal.foreign.Platform;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** An array of {@code struct epoll_event}, whose data is a number. */
final class EpollEvents {
  /** The offset of the data. The struct is packed on x86-64, and only there. */
  static final long DATA = Platform.current().isAarch64() ? 8 : 4;

  static final long SIZE = DATA + Long.BYTES;

  /** EPOLLIN. */
  static final int READABLE = 1;

  private EpollEvents() {}

  /** Calls epoll_ctl(2) with an event; returns 0 or the errno. */
  static int control(int epoll, int operation, int descriptor, int number, int wanted) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment event = arena.allocate(SIZE, Long.BYTES);
      event.set(ValueLayout.JAVA_INT, 0, wanted);
      event.set(ValueLayout.JAVA_LONG_UNALIGNED, DATA, number);
      return Libc.epoll_ctl(epoll, operation, descriptor, event.address());
    }
  }

  static int number(MemorySegment events, int index) {
    return (int) events.get(ValueLayout.JAVA_LONG_UNALIGNED, index * SIZE + DATA);
  }

  static int events(MemorySegment array, int index) {
    return array.get(ValueLayout.JAVA_INT_UNALIGNED, index * SIZE);
  }

  static void copy(MemorySegment array, int from, int to) {
    MemorySegment.copy(array, from * SIZE, array, to * SIZE, SIZE);
  }
}
