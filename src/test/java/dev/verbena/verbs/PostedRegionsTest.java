package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.fake.FakeProvider;
import dev.verbena.internal.jfr.ObjectName;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.MemoryWindowType;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.Arena;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Regions that requests name: their memory must be there, and be for the device to write. */
class PostedRegionsTest {
  private static final int SIZE = 64;

  private final Arena arena = Arena.ofShared();
  private final FakeProvider provider = new FakeProvider();
  private final Context context = FakeDevices.of(provider).open();
  private final ProtectionDomain domain = context.allocateProtectionDomain();
  private final CompletionQueue queue = context.completionQueue(64).create();
  private final QueuePair queuePair =
      QueuePair.builder(domain, QueuePairType.RC)
          .completions(queue)
          .capacity(QueuePairCapacity.of(32).withReceiveSges(8).withSendSges(8))
          .create();

  PostedRegionsTest() {
    queuePair.connect(queuePair.localAddress());
  }

  @AfterEach
  void close() {
    context.close();
    provider.close();
    arena.close();
  }

  private MemoryRegion region(Arena memory, AccessFlag... access) {
    return domain.registerMemory(memory.allocate(SIZE), access);
  }

  private void refusedFor(MemoryRegion region, ReceiveList list) {
    String message =
        assertThrows(IllegalStateException.class, () -> queuePair.post(list)).getMessage();
    assertTrue(message.contains(ObjectName.of(region) + ", which is closed"), message);
  }

  @Test
  void listWithFreedMemoryThrows() {
    Arena closed = Arena.ofConfined();
    MemoryRegion region = region(closed, AccessFlag.LOCAL_WRITE);
    ReceiveList list = new ReceiveList(2, 1);
    list.local(0, region, 0, 8);
    list.local(1, region(arena, AccessFlag.LOCAL_WRITE), 0, 8);
    assertEquals(2, queuePair.post(list));
    assertEquals(2, queuePair.post(list));
    closed.close();
    refusedFor(region, list);
    refusedFor(region, list);
    assertEquals(1, queuePair.post(list, 1, 1));
  }

  @Test
  void patchedListWithFreedMemoryThrows() {
    ReceiveList list = new ReceiveList(1, 1);
    list.local(0, region(arena, AccessFlag.LOCAL_WRITE), 0, 8);
    assertEquals(1, queuePair.post(list));
    for (int i = 0; i < 10; i++) {
      Arena closed = Arena.ofConfined();
      MemoryRegion region = region(closed, AccessFlag.LOCAL_WRITE);
      list.local(0, region, 0, 8);
      assertEquals(1, queuePair.post(list));
      closed.close();
      refusedFor(region, list);
    }
    list.local(0, region(arena, AccessFlag.LOCAL_WRITE), 0, 8);
    assertEquals(1, queuePair.post(list), "memory that is named no longer does not matter");
  }

  @Test
  void listWithFreedMemoryOfARegionThatCannotBeClosedThrows() {
    Arena closed = Arena.ofConfined();
    MemoryRegion region = region(closed, AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND);
    MemoryWindow window = MemoryWindow.allocate(domain, MemoryWindowType.TYPE_2);
    provider
        .internals()
        .bind(
            window.segment().address(), region.segment().address(), queuePair.segment().address());
    ReceiveList list = new ReceiveList(1, 1);
    list.local(0, region, 0, 8);
    assertEquals(1, queuePair.post(list));
    assertThrows(Error.class, closed::close);
    assertTrue(region.isOpen());
    String message =
        assertThrows(IllegalStateException.class, () -> queuePair.post(list)).getMessage();
    assertEquals("the arena of the memory of " + region + " is closed", message);
  }

  private void refusedWithoutLocalWrite(SendList list) {
    String message =
        assertThrows(IllegalArgumentException.class, () -> queuePair.post(list)).getMessage();
    assertTrue(message.contains("without LOCAL_WRITE"), message);
  }

  @Test
  void whatTheDeviceWritesNeedsLocalWrite() {
    MemoryRegion readable = region(arena);
    ReceiveList receives = new ReceiveList(1, 1);
    receives.local(0, readable, 0, 8);
    String message =
        assertThrows(IllegalArgumentException.class, () -> queuePair.post(receives)).getMessage();
    assertTrue(message.contains("receive request 0") && message.contains("LOCAL_WRITE"), message);
    SendList sends = new SendList(1, 1);
    sends.read(0).local(readable, 0, 8).remote(0, 1);
    refusedWithoutLocalWrite(sends);
    sends.fetchAndAdd(0, 1).local(readable, 0, 8).remote(0, 1);
    refusedWithoutLocalWrite(sends);
    sends.compareAndSwap(0, 1, 2).local(readable, 0, 8).remote(0, 1);
    refusedWithoutLocalWrite(sends);
    sends.send(0).local(readable, 0, 8);
    assertEquals(1, queuePair.post(sends));
  }

  @Test
  void aPatchedReceiveNeedsLocalWriteAsWell() {
    ReceiveList receives = new ReceiveList(1, 1);
    receives.local(0, region(arena, AccessFlag.LOCAL_WRITE), 0, 8);
    assertEquals(1, queuePair.post(receives));
    receives.local(0, region(arena), 0, 8);
    assertThrows(IllegalArgumentException.class, () -> queuePair.post(receives));
  }
}
