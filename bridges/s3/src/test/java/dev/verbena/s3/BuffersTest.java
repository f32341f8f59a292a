package dev.verbena.s3;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import dev.verbena.s3.server.Profile;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The memory of a device. */
class BuffersTest {
  private static final int MIB = 1 << 20;

  private final AtomicInteger ends = new AtomicInteger();
  private Rig rig;
  private Context context;
  private Buffers buffers;

  @BeforeEach
  void open() throws Exception {
    rig = new Rig(Profile.SPEC);
    context = rig.device.open();
    buffers =
        new Buffers(
            context.allocateProtectionDomain(), 4 * MIB, new Counters(), ends::incrementAndGet);
  }

  @AfterEach
  void close() {
    context.close();
    rig.close();
  }

  private MemoryRegion take(int size) {
    return buffers.take(Buffers.Direction.PUT, size);
  }

  @Test
  void aRegionIsForOneDirection() {
    MemoryRegion put = take(MIB);
    buffers.giveBack(put, true);
    MemoryRegion get = buffers.take(Buffers.Direction.GET, MIB);
    assertEquals(2 * MIB, buffers.bytes());
    buffers.giveBack(get, true);
    assertSame(put, take(MIB - 1));
    assertSame(get, buffers.take(Buffers.Direction.GET, MIB));
  }

  @Test
  void freeRegionsMakeRoom() {
    buffers.giveBack(take(2 * MIB), true);
    assertNotNull(take(4 * MIB));
    assertEquals(4 * MIB, buffers.bytes());
  }

  /** Otherwise each call that is refused would cost registrations. */
  @Test
  void regionsAreKeptIfTheyDoNotMakeRoom() {
    MemoryRegion used = take(2 * MIB);
    buffers.giveBack(take(MIB), true);
    assertNull(take(4 * MIB));
    assertEquals(MIB, buffers.freeBytes());
    buffers.giveBack(used, true);
  }

  @Test
  void theLastRegionEndsThem() {
    MemoryRegion first = take(MIB);
    MemoryRegion second = take(MIB);
    buffers.end();
    buffers.end();
    assertNull(take(MIB));
    buffers.giveBack(first, true);
    assertNull(take(MIB), "although one is free");
    assertEquals(0, ends.get());
    buffers.giveBack(second, false);
    assertEquals(1, ends.get());
  }

  @Test
  void theyEndAtOnceIfNoneIsUsed() {
    buffers.giveBack(take(MIB), true);
    buffers.end();
    assertEquals(1, ends.get());
  }
}
