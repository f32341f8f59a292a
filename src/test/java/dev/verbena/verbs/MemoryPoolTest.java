package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import dev.verbena.soft.SoftHosts;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The slices of a registered region. */
class MemoryPoolTest {
  private SoftHosts hosts;
  private Context context;
  private ProtectionDomain domain;

  @BeforeEach
  void open() throws Exception {
    hosts = SoftHosts.create();
    context = hosts.call(() -> Device.list().getFirst().open());
    domain = context.allocateProtectionDomain();
  }

  @AfterEach
  void close() {
    context.close();
    hosts.close();
  }

  private MemoryPool pool(long size, int smallest, int largest) {
    return new MemoryPool(domain.allocateMemory(size, AccessFlag.LOCAL_WRITE), smallest, largest);
  }

  @Test
  void noSliceIsOfTheMemoryBeforeAReregistration() {
    try (Arena arena = Arena.ofShared()) {
      MemoryRegion region =
          domain.registerMemory(arena.allocate(1 << 13, 4096), AccessFlag.LOCAL_WRITE);
      MemoryPool pool = new MemoryPool(region, 64, 4096);
      assertNotNull(pool.take(64));
      region.reregister(arena.allocate(1 << 12, 4096));
      var gone = assertThrows(IllegalStateException.class, () -> pool.take(4096));
      assertTrue(gone.getMessage().contains("registered again"), gone.getMessage());
      assertThrows(IllegalStateException.class, () -> pool.take(64));
      region.close();
    }
  }

  @Test
  void slicesHaveTheNextPowerOfTwoAndDoNotOverlap() {
    MemoryPool pool = pool(1 << 16, 64, 4096);
    Random random = new Random(1);
    List<MemorySlice> taken = new ArrayList<>();
    while (true) {
      int size = random.nextInt(4096) + 1;
      MemorySlice slice = pool.take(size);
      if (slice == null) {
        break;
      }
      assertEquals(Math.max(64, Integer.highestOneBit(2 * size - 1)), slice.size());
      assertEquals(slice.memory().address(), slice.region().memory().address() + slice.offset());
      assertEquals(0, slice.memory().address() % Math.min(4096, slice.size()));
      slice.memory().fill((byte) (taken.size() + 1));
      taken.add(slice);
    }
    assertTrue(taken.size() >= 16, taken::toString);
    for (int i = 0; i < taken.size(); i++) {
      MemorySlice slice = taken.get(i);
      for (long at = 0; at < slice.size(); at++) {
        assertEquals((byte) (i + 1), slice.memory().get(ValueLayout.JAVA_BYTE, at));
      }
      slice.release();
    }
  }

  @Test
  void freeChunksServeOtherSizes() {
    MemoryPool pool = pool(4 * 4096, 64, 4096);
    List<MemorySlice> small = new ArrayList<>();
    for (MemorySlice slice = pool.take(1); slice != null; slice = pool.take(1)) {
      small.add(slice);
    }
    assertEquals(4 * 64, small.size());
    assertNull(pool.take(4096));
    MemorySlice kept = small.removeFirst();
    small.forEach(MemorySlice::release);
    List<MemorySlice> large = new ArrayList<>();
    for (MemorySlice slice = pool.take(4096); slice != null; slice = pool.take(4096)) {
      large.add(slice);
    }
    assertEquals(3, large.size());
    assertNotNull(pool.take(64));
    kept.release();
  }

  @Test
  void mistakesAreRefused() {
    MemoryRegion region = domain.allocateMemory(4096);
    assertThrows(IllegalArgumentException.class, () -> new MemoryPool(region, 0, 4096));
    assertThrows(IllegalArgumentException.class, () -> new MemoryPool(region, 3, 4096));
    assertThrows(IllegalArgumentException.class, () -> new MemoryPool(region, 64, 4095));
    assertThrows(IllegalArgumentException.class, () -> new MemoryPool(region, 64, 8192));
    assertThrows(IllegalArgumentException.class, () -> new MemoryPool(region, 128, 64));
    assertThrows(
        IllegalArgumentException.class,
        () -> new MemoryPool(region, Integer.MIN_VALUE, Integer.MIN_VALUE));
    assertThrows(NullPointerException.class, () -> new MemoryPool(null, 64, 64));
    MemoryPool pool = new MemoryPool(region, 64, 4096);
    assertThrows(IllegalArgumentException.class, () -> pool.take(0));
    assertThrows(IllegalArgumentException.class, () -> pool.take(4097));
    MemorySlice slice = pool.take(4096);
    assertNull(pool.take(1));
    slice.release();
    assertThrows(IllegalStateException.class, slice::release);
    assertSame(slice, pool.take(4096));
    region.close();
    assertThrows(IllegalStateException.class, () -> slice.memory().get(ValueLayout.JAVA_BYTE, 0));
    slice.release();
    assertThrows(IllegalStateException.class, () -> new MemoryPool(region, 64, 64));
  }

  @Test
  void nothingIsAllocatedOnceEachChunkHadEachSize() {
    MemoryPool pool = pool(1 << 16, 256, 1 << 14);
    Deque<MemorySlice> taken = new ArrayDeque<>(1 << 10);
    for (int size = 256; size <= 1 << 14; size *= 2) {
      MemorySlice slice;
      while ((slice = pool.take(size)) != null) {
        taken.add(slice);
      }
      taken.forEach(MemorySlice::release);
      taken.clear();
    }
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    Random random = new Random();
    long least = Long.MAX_VALUE;
    for (int round = 0; round < 10; round++) { // The JVM itself allocates now and then.
      random.setSeed(2);
      long before = threads.getCurrentThreadAllocatedBytes();
      churn(pool, taken, random);
      least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
    }
    assertEquals(0, least);
  }

  private static void churn(MemoryPool pool, Deque<MemorySlice> taken, Random random) {
    for (int i = 0; i < 10_000; i++) {
      MemorySlice slice = pool.take(1 + random.nextInt(1 << 14));
      if (slice == null || random.nextInt(3) == 0) {
        MemorySlice oldest = taken.poll();
        if (oldest != null) {
          oldest.release();
        }
      }
      if (slice != null) {
        taken.add(slice);
      }
    }
    while (!taken.isEmpty()) {
      taken.poll().release();
    }
  }

  @Test
  void oneThreadTakesAndAnotherReleases() throws Exception {
    MemoryPool pool = pool(1 << 14, 64, 4096);
    BlockingQueue<MemorySlice> handed = new LinkedBlockingQueue<>();
    int count = 20_000;
    Thread releasing =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    for (int i = 0; i < count; i++) {
                      handed.take().release();
                    }
                  } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                  }
                });
    Random random = new Random(3);
    for (int i = 0; i < count; ) {
      MemorySlice slice = pool.take(1 + random.nextInt(4096));
      if (slice != null) {
        handed.add(slice);
        i++;
      } else {
        Thread.onSpinWait();
      }
    }
    releasing.join();
    for (int i = 0; i < 4; i++) {
      assertNotNull(pool.take(4096));
    }
    assertNull(pool.take(1));
  }
}
