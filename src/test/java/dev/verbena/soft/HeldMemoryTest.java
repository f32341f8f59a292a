package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.VerbsException;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.MemoryWindowType;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.MemoryWindow;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.WindowBinding;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which registered memory is accessed through its segment, and memory that no longer exists. */
class HeldMemoryTest {
  private static final int SIZE = 64 * 1024;

  private static boolean isHeld(SoftPair pair, MemoryRegion region) {
    return pair.network.engine.locked(
        () -> pair.network.deviceNamed("soft0").keys.get(region.lkey()).isHeld());
  }

  private static boolean isHeld(SoftPair pair, MemorySegment memory) {
    try (MemoryRegion region = pair.a.domain.registerMemory(memory, AccessFlag.LOCAL_WRITE)) {
      return isHeld(pair, region);
    }
  }

  @Test
  void memoryOfTheLibraryAndOfSharedArenasIsHeld() throws Exception {
    try (SoftPair pair = SoftPair.connected();
        Arena arena = Arena.ofShared()) {
      try (MemoryRegion own = pair.a.domain.allocateMemory(SIZE)) {
        assertTrue(isHeld(pair, own));
      }
      assertTrue(isHeld(pair, arena.allocate(SIZE)));
      assertTrue(isHeld(pair, Arena.ofAuto().allocate(SIZE)));
    }
  }

  @Test
  void otherMemoryIsCopiedByTheKernel(@TempDir Path folder) throws IOException {
    try (SoftPair pair = SoftPair.connected();
        Arena confined = Arena.ofConfined();
        Arena shared = Arena.ofShared();
        FileChannel file =
            FileChannel.open(
                folder.resolve("file"),
                StandardOpenOption.CREATE,
                StandardOpenOption.READ,
                StandardOpenOption.WRITE)) {
      MemorySegment memory = confined.allocate(SIZE);
      assertFalse(isHeld(pair, memory), "confined to another thread");
      assertFalse(
          isHeld(pair, MemorySegment.ofAddress(memory.address()).reinterpret(SIZE)),
          "of the global scope");
      assertFalse(
          isHeld(pair, file.map(FileChannel.MapMode.READ_WRITE, 0, SIZE, shared)), "a file");
    }
  }

  @Test
  void changedRegionIsHeld() throws Exception {
    try (SoftPair pair = SoftPair.connected();
        Arena arena = Arena.ofShared();
        Arena confined = Arena.ofConfined()) {
      MemoryRegion region =
          pair.a.domain.registerMemory(
              confined.allocate(SIZE), AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND);
      region.reregister().memory(arena.allocate(SIZE)).apply();
      assertTrue(isHeld(pair, region));
      region.reregister().access(AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND).apply();
      assertTrue(isHeld(pair, region));
    }
  }

  /** Writes from one region to another, of which one may have been freed. */
  private static CompletionStatus write(SoftPair pair, SendList list) throws Exception {
    assertEquals(1, pair.a.queuePair.post(list));
    return pair.completion();
  }

  private static SendList writing(MemoryRegion from, MemoryRegion to) {
    SendList list = new SendList(1, 1);
    list.write(0).remote(to.start(), to.rkey()).signaled();
    list.localUnchecked(0, 0, from.start(), SIZE, from.lkey());
    return list;
  }

  @Test
  void largeWriteArrives() throws Exception {
    try (SoftPair pair = SoftPair.connected();
        Arena arena = Arena.ofShared()) {
      MemorySegment source = arena.allocate(SIZE);
      for (int i = 0; i < SIZE; i += Integer.BYTES) {
        source.set(ValueLayout.JAVA_INT, i, i * 31);
      }
      MemoryRegion from = pair.a.domain.registerMemory(source);
      MemoryRegion to =
          pair.b.domain.allocateMemory(SIZE, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      assertEquals(CompletionStatus.SUCCESS, write(pair, writing(from, to)));
      assertEquals(-1, source.mismatch(to.memory()));
    }
  }

  @Test
  void closedArenaOfTheRequesterIsALocalProtectionError() throws Exception {
    try (SoftPair pair = SoftPair.connected()) {
      Arena arena = Arena.ofShared();
      MemoryRegion from = pair.a.domain.registerMemory(arena.allocate(SIZE));
      MemoryRegion to =
          pair.b.domain.allocateMemory(SIZE, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      SendList list = writing(from, to);
      arena.close();
      assertEquals(CompletionStatus.LOC_PROT_ERR, write(pair, list));
    }
  }

  @Test
  void closedArenaOfTheResponderIsARemoteAccessError() throws Exception {
    try (SoftPair pair = SoftPair.connected()) {
      Arena arena = Arena.ofShared();
      MemoryRegion from = pair.a.domain.allocateMemory(SIZE);
      MemoryRegion to =
          pair.b.domain.registerMemory(
              arena.allocate(SIZE), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      SendList list = writing(from, to);
      arena.close();
      assertEquals(CompletionStatus.REM_ACCESS_ERR, write(pair, list));
    }
  }

  @Test
  void memoryThatWasFreedEndsInACompletionStatus() {
    try (SoftPair pair = SoftPair.connected()) {
      Arena mapped = Arena.ofShared();
      MemorySegment large = mapped.allocate(64 << 20, 4096); // The allocator unmaps it when freed.
      MemoryRegion region =
          pair.a.domain.registerMemory(large, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
      long address = large.address();
      SendList list = new SendList(1, 1);
      list.write(0).remote(pair.b.region.start(), pair.b.region.rkey()).signaled();
      list.localUnchecked(0, 0, address, 64, region.lkey());
      mapped.close();
      assertEquals(1, pair.a.queuePair.post(list));
      assertEquals(CompletionStatus.LOC_PROT_ERR, pair.completion());
    }
  }

  /** A receive that is outstanding when its memory is freed. */
  @Test
  void messageForFreedMemoryIsALocalProtectionError() {
    for (Arena arena : new Arena[] {Arena.ofShared(), Arena.ofConfined()}) {
      try (SoftPair pair = SoftPair.connected()) {
        MemoryRegion to =
            pair.b.domain.registerMemory(arena.allocate(SIZE), AccessFlag.LOCAL_WRITE);
        ReceiveList receives = new ReceiveList(1, 1);
        receives.local(0, to, 0, SIZE);
        assertEquals(1, pair.b.queuePair.post(receives));
        arena.close();
        assertFalse(to.isOpen());
        SendList sends = new SendList(1, 1);
        sends.send(0).local(pair.a.region, 0, 8).signaled();
        assertEquals(1, pair.a.queuePair.post(sends));
        assertEquals(CompletionStatus.LOC_PROT_ERR, SoftPair.await(pair.b.completions));
      }
    }
  }

  /** A confined arena frees what it has allocated first, although the region cannot be closed. */
  @Test
  void freedMemoryOfAConfinedArenaIsNotAccessed() {
    try (SoftPair pair = SoftPair.connected()) {
      Arena confined = Arena.ofConfined();
      MemoryRegion to =
          pair.b.domain.registerMemory(
              confined.allocate(SIZE),
              AccessFlag.LOCAL_WRITE,
              AccessFlag.REMOTE_WRITE,
              AccessFlag.REMOTE_READ,
              AccessFlag.MW_BIND);
      MemoryWindow window = MemoryWindow.allocate(pair.b.domain, MemoryWindowType.TYPE_2);
      int bound = MemoryWindow.nextKey(window.rkey());
      WindowBinding all = new WindowBinding(to, 0, SIZE, Set.of(AccessFlag.REMOTE_WRITE));
      SendList binding = new SendList(1, 0);
      binding.bindMemoryWindow(0, window, bound, all).signaled();
      assertEquals(1, pair.b.queuePair.post(binding));
      assertEquals(CompletionStatus.SUCCESS, SoftPair.await(pair.b.completions));
      var notClosed = assertThrows(Error.class, confined::close);
      assertInstanceOf(VerbsException.class, notClosed.getCause());
      for (int rkey : new int[] {to.rkey(), bound}) {
        SendList list = new SendList(1, 1);
        list.write(0).local(pair.a.region, 0, 8).remote(to.start(), rkey).signaled();
        assertEquals(1, pair.a.queuePair.post(list));
        assertEquals(CompletionStatus.REM_ACCESS_ERR, pair.completion());
        pair.reconnect();
      }
    }
  }

  @Test
  void windowIsNotBoundToARegionThatWasDeregisteredSince() {
    try (SoftPair pair = SoftPair.connected()) {
      MemoryRegion region =
          pair.a.domain.allocateMemory(
              SIZE, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.MW_BIND);
      MemoryWindow window = MemoryWindow.allocate(pair.a.domain, MemoryWindowType.TYPE_2);
      SendList list = new SendList(1, 0);
      list.bindMemoryWindow(
              0,
              window,
              MemoryWindow.nextKey(window.rkey()),
              new WindowBinding(region, 0, SIZE, Set.of(AccessFlag.REMOTE_WRITE)))
          .signaled();
      pair.network.engine.locked(
          () -> {
            assertEquals(1, pair.a.queuePair.post(list)); // Carried out when the lock is free.
            region.close();
          });
      assertEquals(CompletionStatus.MW_BIND_ERR, pair.completion());
    }
  }
}
