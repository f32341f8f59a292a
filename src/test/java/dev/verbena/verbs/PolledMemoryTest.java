package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.fake.FakeProvider;
import dev.verbena.testing.Await;
import dev.verbena.values.AccessFlag;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Memory that a program polls while a device or another thread writes to it. */
class PolledMemoryTest {
  private static final Duration LONGEST = Duration.ofSeconds(Long.MAX_VALUE, 999_999_999);

  private final FakeProvider provider = new FakeProvider();
  private final Context context = FakeDevices.of(provider).open();
  private final ProtectionDomain domain = context.allocateProtectionDomain();
  private final MemoryRegion region = domain.allocateMemory(64, AccessFlag.LOCAL_WRITE);
  private final PolledMemory polled = new PolledMemory(region);

  @AfterEach
  void close() {
    context.close();
    provider.close();
  }

  private static void assertRefused(
      Class<? extends RuntimeException> type, String text, Executable call) {
    RuntimeException refused = assertThrows(type, call);
    assertTrue(refused.getMessage().contains(text), refused.getMessage());
  }

  @Test
  void numbersHaveTheByteOrderOfTheMachine() {
    polled.putLongRelease(8, 0x0102030405060708L);
    polled.putByteRelease(63, (byte) -3);
    assertEquals(0x0102030405060708L, region.memory().get(ValueLayout.JAVA_LONG, 8));
    assertEquals(-3, region.memory().get(ValueLayout.JAVA_BYTE, 63));
    assertEquals(0x0102030405060708L, polled.getLongAcquire(8));
    assertEquals(-3, polled.getByteAcquire(63));
    assertEquals("memory of " + region, polled.toString());
  }

  @Test
  void offsetsOutsideTheRegionThrow() {
    for (long offset : new long[] {57, 64, -1, -8, Long.MAX_VALUE, Long.MIN_VALUE}) {
      String text = "8 bytes at offset " + offset + " are not inside " + region;
      Class<IndexOutOfBoundsException> type = IndexOutOfBoundsException.class;
      assertRefused(type, text, () -> polled.getLongAcquire(offset));
      assertRefused(type, text, () -> polled.putLongRelease(offset, 1));
      assertRefused(type, text, () -> polled.awaitLong(offset, 0, Duration.ZERO));
      assertRefused(type, text, () -> polled.awaitChange(offset, 0, Duration.ZERO));
      assertRefused(type, text, () -> polled.awaitAtLeast(offset, 0, Duration.ZERO));
    }
    for (long offset : new long[] {64, -1, Long.MAX_VALUE, Long.MIN_VALUE}) {
      String text = "1 bytes at offset " + offset + " are not inside " + region;
      Class<IndexOutOfBoundsException> type = IndexOutOfBoundsException.class;
      assertRefused(type, text, () -> polled.getByteAcquire(offset));
      assertRefused(type, text, () -> polled.putByteRelease(offset, (byte) 1));
      assertRefused(type, text, () -> polled.awaitByte(offset, (byte) 0, Duration.ZERO));
    }
    assertEquals(-1, region.memory().mismatch(MemorySegment.ofArray(new byte[64])));
  }

  @Test
  void aNumberThatIsNotAlignedThrows() {
    Class<IllegalArgumentException> type = IllegalArgumentException.class;
    assertRefused(type, "multiple of 8", () -> polled.getLongAcquire(4));
    assertRefused(type, "offset 1 of memory at 0x", () -> polled.putLongRelease(1, 1));
    assertRefused(type, "multiple of 8", () -> polled.awaitLong(9, 0, Duration.ZERO));
  }

  @Test
  void theAddressMustBeAlignedNotTheOffset() {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment memory = arena.allocate(32, 8).asSlice(4);
      PolledMemory shifted =
          new PolledMemory(domain.registerMemory(memory, AccessFlag.LOCAL_WRITE));
      assertThrows(IllegalArgumentException.class, () -> shifted.getLongAcquire(0));
      shifted.putLongRelease(4, 5);
      assertEquals(5, shifted.getLongAcquire(4));
    }
  }

  @Test
  void readOnlyMemoryCanBePolledNotWritten() throws InterruptedException {
    try (Arena arena = Arena.ofShared()) {
      PolledMemory readOnly =
          new PolledMemory(domain.registerMemory(arena.allocate(8, 8).asReadOnly()));
      assertTrue(readOnly.awaitLong(0, 0, Duration.ZERO));
      Class<IllegalArgumentException> type = IllegalArgumentException.class;
      assertRefused(type, "read-only", () -> readOnly.putLongRelease(0, 1));
      assertRefused(type, "read-only", () -> readOnly.putByteRelease(0, (byte) 1));
    }
  }

  @Test
  void memoryOfAClosedRegionThrows() {
    region.close();
    Class<IllegalStateException> type = IllegalStateException.class;
    assertRefused(type, "closed", () -> polled.getLongAcquire(0));
    assertRefused(type, "closed", () -> polled.getByteAcquire(0));
    assertRefused(type, "closed", () -> polled.putLongRelease(0, 1));
    assertRefused(type, "closed", () -> polled.putByteRelease(0, (byte) 1));
    assertRefused(type, "closed", () -> polled.awaitLong(0, 1, LONGEST));
    assertRefused(type, "closed", () -> polled.awaitByte(0, (byte) 1, LONGEST));
    assertRefused(type, "closed", () -> new PolledMemory(region));
    assertThrows(NullPointerException.class, () -> new PolledMemory(null));
  }

  @Test
  void memoryOfAClosedArenaThrows() {
    Arena arena = Arena.ofShared();
    PolledMemory ofArena = new PolledMemory(domain.registerMemory(arena.allocate(8, 8)));
    arena.close();
    assertRefused(IllegalStateException.class, "closed", () -> ofArena.getLongAcquire(0));
  }

  @Test
  void memoryOfAConfinedArenaBelongsToItsThread() throws Exception {
    try (Arena arena = Arena.ofConfined()) {
      MemoryRegion confined = domain.registerMemory(arena.allocate(8, 8));
      FutureTask<Boolean> other =
          new FutureTask<>(() -> new PolledMemory(confined).awaitLong(0, 1, LONGEST));
      Thread.ofPlatform().start(other);
      ExecutionException failure = assertThrows(ExecutionException.class, other::get);
      assertInstanceOf(WrongThreadException.class, failure.getCause());
      confined.close();
    }
  }

  @Test
  void aTimeoutMustBeGiven() {
    assertThrows(NullPointerException.class, () -> polled.awaitLong(0, 0, null));
    assertThrows(NullPointerException.class, () -> polled.awaitByte(0, (byte) 0, null));
  }

  @Test
  void aWaitEndsAfterTheTimeout() throws InterruptedException {
    assertFalse(polled.awaitLong(0, 1, Duration.ofSeconds(Long.MIN_VALUE)));
    assertFalse(polled.awaitByte(0, (byte) 1, Duration.ofNanos(-1)));
    long start = System.nanoTime();
    assertFalse(polled.awaitLong(0, 1, Duration.ofMillis(5)));
    assertFalse(polled.awaitByte(0, (byte) 1, Duration.ofMillis(5)));
    assertTrue(System.nanoTime() - start >= 10_000_000);
  }

  @Test
  void aWaitForAChangeOrACounterEndsWithIt() throws InterruptedException {
    polled.putLongRelease(0, 5);
    assertFalse(polled.awaitChange(0, 5, Duration.ZERO));
    assertTrue(polled.awaitChange(0, 4, Duration.ZERO));
    assertTrue(polled.awaitAtLeast(0, 4, Duration.ZERO));
    assertTrue(polled.awaitAtLeast(0, 5, Duration.ZERO));
    assertFalse(polled.awaitAtLeast(0, 6, Duration.ZERO));
    polled.putLongRelease(0, Long.MIN_VALUE);
    assertTrue(polled.awaitAtLeast(0, Long.MAX_VALUE, Duration.ZERO), "a counter may overflow");
    assertFalse(polled.awaitAtLeast(0, Long.MIN_VALUE + 1, Duration.ZERO));
  }

  @Test
  void anInterruptEndsAWaitUnlessTheValueIsThere() throws InterruptedException {
    Thread.currentThread().interrupt();
    assertTrue(polled.awaitLong(0, 0, LONGEST));
    assertThrows(InterruptedException.class, () -> polled.awaitLong(0, 1, LONGEST));
    Thread.currentThread().interrupt();
    assertTrue(polled.awaitByte(0, (byte) 0, LONGEST));
    assertThrows(InterruptedException.class, () -> polled.awaitByte(0, (byte) 1, LONGEST));
  }

  /** Two threads that answer each other through two numbers, with data that is not volatile. */
  @Test
  void whatWasWrittenBeforeIsSeen() throws Exception {
    int rounds = 100_000;
    MemorySegment data = region.memory().asSlice(16, 8);
    FutureTask<Long> answering =
        new FutureTask<>(
            () -> {
              long sum = 0;
              for (long i = 1; i <= rounds; i++) {
                assertTrue(polled.awaitLong(0, i, Await.LIMIT));
                sum += data.get(ValueLayout.JAVA_LONG, 0) - i;
                polled.putLongRelease(8, i);
              }
              return sum;
            });
    Thread.ofPlatform().start(answering);
    for (long i = 1; i <= rounds; i++) {
      data.set(ValueLayout.JAVA_LONG, 0, 2 * i);
      polled.putLongRelease(0, i);
      assertTrue(polled.awaitLong(8, i, Await.LIMIT));
    }
    assertEquals(rounds * (rounds + 1L) / 2, answering.get());
  }

  @Test
  void closingTheRegionEndsAWait() throws Exception {
    CountDownLatch waiting = new CountDownLatch(1);
    FutureTask<Boolean> wait =
        new FutureTask<>(
            () -> {
              waiting.countDown();
              return polled.awaitLong(0, 1, LONGEST);
            });
    Thread.ofPlatform().start(wait);
    waiting.await();
    Await.pass(Duration.ofMillis(20), "the thread polls");
    region.close();
    ExecutionException failure = assertThrows(ExecutionException.class, wait::get);
    assertInstanceOf(IllegalStateException.class, failure.getCause());
  }
}
