package dev.verbena.testing;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** Memory of whole pages that can be taken from the process, so that the device finds none. */
public final class MemoryPages {
  private static final long PAGE = 4096;
  private static final int MADV_DONTNEED = 4;

  private static final MethodHandle MADVISE =
      Linker.nativeLinker()
          .downcallHandle(
              Linker.nativeLinker().defaultLookup().find("madvise").orElseThrow(),
              FunctionDescriptor.of(
                  ValueLayout.JAVA_INT,
                  ValueLayout.ADDRESS,
                  ValueLayout.JAVA_LONG,
                  ValueLayout.JAVA_INT));

  private MemoryPages() {}

  /** Allocates zeroed memory of whole pages. */
  public static MemorySegment allocate(Arena arena, int pages) {
    return arena.allocate(pages * PAGE, PAGE);
  }

  /** Takes the pages away: the next access, of whomever, finds zeroed ones. */
  public static void drop(MemorySegment pages) {
    try {
      if ((int) MADVISE.invokeExact(pages, pages.byteSize(), MADV_DONTNEED) != 0) {
        throw new AssertionError("madvise failed on " + pages);
      }
    } catch (Throwable t) {
      throw new AssertionError(t);
    }
  }
}
