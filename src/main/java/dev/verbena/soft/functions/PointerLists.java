package dev.verbena.soft.functions;

import dev.verbena.internal.foreign.Memory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Lists of pointers that end with NULL, which a program gets and frees. */
final class PointerLists {
  /** The lists that are in use, by their addresses. */
  private final Map<Long, MemorySegment> lists = new ConcurrentHashMap<>();

  /** Returns a list, and writes the number of its pointers to an address unless that is NULL. */
  long get(List<Long> pointers, long count) {
    MemorySegment list = Arena.ofAuto().allocate(ValueLayout.JAVA_LONG, pointers.size() + 1L);
    for (int i = 0; i < pointers.size(); i++) {
      list.setAtIndex(ValueLayout.JAVA_LONG, i, pointers.get(i));
    }
    if (count != 0) {
      Memory.putInt(count, pointers.size());
    }
    lists.put(list.address(), list);
    return list.address();
  }

  /** Frees a list, and returns its pointers. */
  List<Long> free(long list) {
    MemorySegment freed = lists.remove(list);
    return freed == null
        ? List.of()
        : Arrays.stream(freed.toArray(ValueLayout.JAVA_LONG)).filter(p -> p != 0).boxed().toList();
  }
}
