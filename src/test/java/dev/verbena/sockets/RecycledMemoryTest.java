package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.internal.foreign.OwnMemory;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Some memory of streams is kept for others, the rest is freed. */
@Tag("host")
class RecycledMemoryTest {
  private static final int SIZE = 4711;

  private final RecycledMemory memories = new RecycledMemory();

  private static boolean isAlive(OwnMemory memory) {
    return memory.segment().scope().isAlive();
  }

  @Test
  void memoryOfTheSameSizeIsUsedAgain() {
    OwnMemory memory = memories.take(SIZE);
    assertEquals(SIZE, memory.segment().byteSize());
    memories.release(memory);
    OwnMemory other = memories.take(SIZE + 1);
    assertEquals(SIZE + 1, other.segment().byteSize());
    memories.release(other);
    assertSame(memory, memories.take(SIZE));
    assertTrue(isAlive(memory));
    memories.release(memory);
  }

  @Test
  void noMoreIsKeptThanSixteen() {
    List<OwnMemory> all = Stream.generate(() -> memories.take(SIZE)).limit(20).toList();
    all.forEach(memories::release);
    assertEquals(16, all.stream().filter(RecycledMemoryTest::isAlive).count());
    assertFalse(isAlive(all.getFirst()), "the oldest is freed");
  }

  @Test
  void largeMemoryIsFreed() {
    OwnMemory memory = memories.take((1 << 20) + 1);
    memories.release(memory);
    assertFalse(isAlive(memory));
  }
}
