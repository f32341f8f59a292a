package dev.verbena;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** The table says what glibc says. */
class ErrnoTest {
  private static final int LAST = 132;

  /** Linux leaves these numbers out. */
  private static boolean isGap(int errno) {
    return errno == 41 || errno == 58;
  }

  @Test
  void textsAreThoseOfStrerror() throws Throwable {
    MethodHandle strerror = function("strerror").orElseThrow();
    for (int errno : IntStream.rangeClosed(1, LAST).toArray()) {
      if (!isGap(errno)) {
        MemorySegment text = (MemorySegment) strerror.invokeExact(errno);
        assertEquals(text.getString(0), Errno.text(errno));
      }
    }
    assertEquals("Unknown error 4711", Errno.text(4711));
  }

  @Test
  void namesAreThoseOfStrerrorname() throws Throwable {
    Optional<MethodHandle> strerrorname = function("strerrorname_np");
    Assumptions.assumeTrue(strerrorname.isPresent(), "glibc older than 2.32 tells no names");
    for (int errno : IntStream.rangeClosed(1, LAST).toArray()) {
      if (!isGap(errno)) {
        MemorySegment name = (MemorySegment) strerrorname.get().invokeExact(errno);
        // EOPNOTSUPP and ENOTSUP are one number: verbs say EOPNOTSUPP.
        assertEquals(name.getString(0).replace("ENOTSUP", "EOPNOTSUPP"), Errno.name(errno));
      }
    }
    assertEquals("errno 41", Errno.name(41));
  }

  private static Optional<MethodHandle> function(String name) {
    Linker linker = Linker.nativeLinker();
    MemoryLayout text = MemoryLayout.sequenceLayout(Long.MAX_VALUE, ValueLayout.JAVA_BYTE);
    return linker
        .defaultLookup()
        .find(name)
        .map(
            symbol ->
                linker.downcallHandle(
                    symbol,
                    FunctionDescriptor.of(
                        ValueLayout.ADDRESS.withTargetLayout(text), ValueLayout.JAVA_INT)));
  }
}
