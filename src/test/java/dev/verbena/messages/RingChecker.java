package dev.verbena.messages;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Random;

/** Reads messages, and compares each byte. */
final class RingChecker {
  private final Random random;
  long next;

  RingChecker(Random random) {
    this.random = random;
  }

  static int length(long message, long most) {
    return (int) (message % 7 == 3 ? message * 31 % (most + 1) : message % 50);
  }

  static void fill(MemorySegment memory, long message, int length) {
    for (int i = 0; i < length; i++) {
      memory.set(ValueLayout.JAVA_BYTE, i, (byte) (message * 7 + i));
    }
  }

  void poll(RingReader reader, int limit) {
    boolean refuses = random.nextInt(50) == 0;
    try {
      reader.poll(
          (memory, offset, length) -> {
            if (refuses && random.nextInt(3) == 0) {
              throw new UnsupportedOperationException();
            }
            check(memory, offset, length);
          },
          limit);
    } catch (UnsupportedOperationException e) {
      assertTrue(refuses, "the handler has thrown it");
    }
  }

  private void check(MemorySegment memory, long offset, int length) {
    assertEquals(
        length(next, RingTest.CAPACITY / 2 - RingLayout.HEADER), length, "message " + next);
    for (int i = 0; i < length; i++) {
      assertEquals(
          (byte) (next * 7 + i), memory.get(ValueLayout.JAVA_BYTE, offset + i), "message " + next);
    }
    next++;
  }
}
