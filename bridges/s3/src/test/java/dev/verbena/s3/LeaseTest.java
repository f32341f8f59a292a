package dev.verbena.s3;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.WeakReference;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The marks by which missing data is noticed. */
class LeaseTest {
  private static Lease lease(MemorySegment memory) {
    return new Lease(memory, "token", Duration.ofDays(1), new Window().enter(), _ -> {});
  }

  /** Data is not taken for a mark, whatever its last byte is. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 7, 8, 9, 4096, 4097, 4098, 4103, 4104, 8193, 12_289})
  void dataIsNotTakenForAMark(int size) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment memory = arena.allocate(size);
      for (int value = 0; value < 256; value++) {
        Lease lease = lease(memory);
        lease.mark();
        memory.fill((byte) value);
        assertTrue(lease.isWritten(size), size + " bytes of " + value);
        lease.end();
      }
    }
  }

  /** The data lacks all that is before a byte or after it. */
  @ParameterizedTest
  @ValueSource(ints = {8, 16, 4096, 4097, 4104, 8193, 12_289})
  void missingDataIsNoticed(int size) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment memory = arena.allocate(size);
      for (int at = 0; at < size; at++) {
        for (boolean isBefore : new boolean[] {false, true}) {
          Lease lease = lease(memory);
          lease.mark();
          memory.asSlice(isBefore ? 0 : at, isBefore ? at : size - at).fill((byte) 0);
          if (isBefore ? at <= size - 8 : at >= 8) { // The mark at one end is whole.
            assertFalse(lease.isWritten(size), size + " bytes, " + at);
          }
          lease.end();
        }
      }
    }
  }

  /** Its timer refers to a lease, and may be long. */
  @Test
  void aLeaseThatWasAnsweredIsForgotten() throws Exception {
    try (Arena arena = Arena.ofConfined()) {
      Lease lease = lease(arena.allocate(8));
      assertTrue(lease.offer());
      assertTrue(lease.answer());
      WeakReference<Lease> reference = new WeakReference<>(lease);
      lease.end();
      lease = null;
      Until.holds(
          "it is garbage",
          () -> {
            System.gc();
            return reference.refersTo(null);
          });
    }
  }

  /** An object that is shorter than its range. */
  @Test
  void aPageOfLessDataIsNoticed() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment memory = arena.allocate(20_000);
      Lease lease = lease(memory);
      lease.mark();
      memory.asSlice(0, 4096).fill((byte) 0);
      memory.set(ValueLayout.JAVA_BYTE, 8192, (byte) 0);
      assertTrue(lease.isWritten(4096));
      assertTrue(lease.isWritten(4103), "too few bytes for a mark");
      assertFalse(lease.isWritten(4104));
      assertFalse(lease.isWritten(9000));
    }
  }
}
