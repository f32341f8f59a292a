package dev.verbena.fuzz;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Memory for arguments. What may be registered stays allocated as long as the JVM lives, since a
 * request that was posted before its region was closed may still be carried out.
 */
final class ArgumentMemory {
  private static final int PAGE = 4096;
  private static final Arena FOREVER = Arena.global();
  private static final MemorySegment CLOSED = closed();

  private final List<MemorySegment> pages = new ArrayList<>();
  private final List<MemorySegment> odd = new ArrayList<>();
  private final List<Arena> arenas = new ArrayList<>();

  ArgumentMemory() {
    for (int i = 0; i < 4; i++) {
      pages.add(FOREVER.allocate(PAGE << i, PAGE));
    }
    MemorySegment page = pages.getFirst();
    odd.add(MemorySegment.NULL);
    odd.add(CLOSED);
    odd.add(MemorySegment.ofArray(new byte[64]));
    odd.add(MemorySegment.ofArray(new long[8]));
    odd.add(page.asSlice(8, 0));
    odd.add(page.asSlice(1, 40));
    odd.add(page.asSlice(4, 20));
    odd.add(page.asSlice(0, 64).asReadOnly());
    odd.add(confinedToAnotherThread());
  }

  private static MemorySegment closed() {
    try (Arena arena = Arena.ofShared()) {
      return arena.allocate(PAGE, PAGE);
    }
  }

  /** Of a thread that has ended; never closed. */
  private static MemorySegment confinedToAnotherThread() {
    MemorySegment[] made = new MemorySegment[1];
    Thread thread = new Thread(() -> made[0] = Arena.ofConfined().allocate(PAGE, PAGE));
    thread.start();
    try {
      thread.join();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
    return made[0];
  }

  /** A page that is never freed. */
  MemorySegment page(Random random) {
    return pages.get(random.nextInt(pages.size()));
  }

  /** Whole pages, a part of one, or what no method should accept. */
  MemorySegment segment(Random random) {
    int kind = random.nextInt(10);
    if (kind < 5) {
      return page(random);
    } else if (kind < 8) {
      return page(random).asSlice(random.nextInt(8) * 8L, 1L << random.nextInt(11));
    }
    return odd.get(random.nextInt(odd.size()));
  }

  /** What no method should accept in place of a C struct. */
  MemorySegment noStruct(Random random) {
    MemorySegment[] none = {null, MemorySegment.NULL, MemorySegment.ofArray(new byte[512]), CLOSED};
    return none[random.nextInt(none.length)];
  }

  /** An arena: that of the process, one to be closed at some time, or a closed one. */
  synchronized Arena arena(Random random) {
    int kind = random.nextInt(8);
    if (kind == 0) {
      return FOREVER;
    } else if (kind == 1) {
      return Arena.ofAuto();
    } else if (kind < 4 || arenas.isEmpty()) {
      Arena arena = Arena.ofShared();
      arenas.add(arena);
      return arena;
    }
    return arenas.get(random.nextInt(arenas.size()));
  }

  /** Closes one of the arenas that {@link #arena} gave away, which closes what hangs on it. */
  void closeOne(Random random) {
    Arena arena;
    synchronized (this) {
      if (arenas.isEmpty()) {
        return;
      }
      arena = arenas.remove(random.nextInt(arenas.size()));
    }
    arena.close();
  }

  /** Closes all of them. */
  void close() {
    while (true) {
      Arena arena;
      synchronized (this) {
        if (arenas.isEmpty()) {
          return;
        }
        arena = arenas.removeLast();
      }
      arena.close();
    }
  }
}
