package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.VerbsException;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.MemoryWindowType;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Memory windows, as rdma-core's test_mr.py tests them. */
class MwTest {
  private static final Set<AccessFlag> WRITE = Set.of(AccessFlag.REMOTE_WRITE);

  @Test
  void theNextKeyDiffersInItsLowestByte() {
    assertEquals(0x1235, MemoryWindow.nextKey(0x1234));
    assertEquals(0x1200, MemoryWindow.nextKey(0x12ff));
    assertEquals(0xffff_ff00, MemoryWindow.nextKey(-1));
  }

  @DeviceTest
  void peersWriteThroughAWindowOfType1UntilItIsUnbound() {
    try (Loop loop = new Loop()) {
      MemoryWindow window = MemoryWindow.allocate(loop.pd, MemoryWindowType.TYPE_1);
      assertSame(MemoryWindowType.TYPE_1, window.type());
      int unbound = window.rkey();
      window.bind(loop.peer, 1, new WindowBinding(loop.region, Loop.HALF, 64, WRITE));
      loop.complete(1);
      int rkey = window.rkey();
      assertNotEquals(unbound, rkey);
      write(loop, rkey, CompletionStatus.SUCCESS);
      Await.until(
          "the data of the write", () -> loop.region.memory().getString(Loop.HALF).equals("shown"));
      window.unbind(loop.peer, 2);
      loop.complete(1);
      write(loop, rkey, CompletionStatus.REM_ACCESS_ERR);
    }
  }

  @DeviceTest
  void peersWriteThroughAWindowOfType2UntilItIsInvalidated() {
    try (Loop loop = new Loop()) {
      MemoryWindow window = MemoryWindow.allocate(loop.pd, MemoryWindowType.TYPE_2);
      int rkey = MemoryWindow.nextKey(window.rkey());
      SendList list = new SendList(1, 1);
      list.bindMemoryWindow(0, window, rkey, new WindowBinding(loop.region, Loop.HALF, 64, WRITE))
          .signaled();
      assertEquals(1, loop.peer.post(list));
      loop.complete(1);
      window.bound(loop.peer, rkey, loop.region);
      assertEquals(rkey, window.rkey());
      write(loop, rkey, CompletionStatus.SUCCESS);
      Await.until(
          "the data of the write", () -> loop.region.memory().getString(Loop.HALF).equals("shown"));
      list.localInvalidate(0, rkey).signaled();
      assertEquals(1, loop.peer.post(list));
      loop.complete(1);
      window.invalidated();
      write(loop, rkey, CompletionStatus.REM_ACCESS_ERR);
    }
  }

  private static void write(Loop loop, int rkey, CompletionStatus expected) {
    loop.region.memory().setString(0, "shown");
    SendList list = new SendList(1, 1);
    list.write(0).local(loop.region, 0, 6).remote(loop.region.start() + Loop.HALF, rkey).signaled();
    assertEquals(1, loop.qp.post(list));
    loop.complete(1, expected);
  }

  @DeviceTest
  void eachTypeIsBoundInItsOwnWay() {
    try (Loop loop = new Loop()) {
      MemoryWindow type1 = MemoryWindow.allocate(loop.pd, MemoryWindowType.TYPE_1);
      MemoryWindow type2 = MemoryWindow.allocate(loop.pd, MemoryWindowType.TYPE_2);
      var binding = new WindowBinding(loop.region, 0, 64, WRITE);
      assertThrows(IllegalStateException.class, () -> type2.bind(loop.qp, 1, binding));
      assertThrows(IllegalStateException.class, () -> type2.unbind(loop.qp, 1));
      assertThrows(IllegalStateException.class, () -> type1.unbind(loop.qp, 1), "not bound");
      assertThrows(IllegalStateException.class, () -> type1.bound(loop.qp, 1, loop.region));
      assertThrows(
          IllegalArgumentException.class,
          () -> new SendList(1, 1).bindMemoryWindow(0, type1, 1, binding));
    }
  }

  @DeviceTest
  void bindingsThatTheRegionDoesNotPermitThrow() {
    try (Loop loop = new Loop();
        Arena arena = Arena.ofShared()) {
      MemoryRegion plain = loop.pd.registerMemory(arena.allocate(64), AccessFlag.LOCAL_WRITE);
      MemoryRegion readOnly = loop.pd.registerMemory(arena.allocate(64), AccessFlag.MW_BIND);
      assertThrows(IllegalArgumentException.class, () -> new WindowBinding(plain, 0, 64, Set.of()));
      assertThrows(IllegalArgumentException.class, () -> new WindowBinding(readOnly, 0, 64, WRITE));
      assertThrows(
          IllegalArgumentException.class,
          () -> new WindowBinding(loop.region, 0, 64, Set.of(AccessFlag.LOCAL_WRITE)));
      assertThrows(
          IndexOutOfBoundsException.class,
          () -> new WindowBinding(loop.region, 0, Loop.SIZE + 1, WRITE));
    }
  }

  @DeviceTest
  void windowAndRegionAndQueuePairBelongTogether() {
    try (Loop loop = new Loop()) {
      ProtectionDomain other = loop.context.allocateProtectionDomain();
      MemoryWindow window = MemoryWindow.allocate(other, MemoryWindowType.TYPE_1);
      var binding = new WindowBinding(loop.region, 0, 64, WRITE);
      assertThrows(IllegalArgumentException.class, () -> window.bind(loop.qp, 1, binding));
    }
  }

  @DeviceTest
  void closesTwiceAndWithItsDomain() {
    try (Context context = Rig.a().open()) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      MemoryWindow window = MemoryWindow.allocate(pd, MemoryWindowType.TYPE_1);
      window.close();
      window.close();
      assertThrows(IllegalStateException.class, window::rkey);
      MemoryWindow other = MemoryWindow.allocate(pd, MemoryWindowType.TYPE_2);
      pd.close();
      assertThrows(IllegalStateException.class, other::rkey);
    }
  }

  @DeviceTest
  void aPeerTakesAWindowOfType2() {
    try (Loop loop = new Loop()) {
      int rkey = boundToType2(loop).rkey();
      ReceiveList receive = new ReceiveList(1, 1);
      receive.local(0, loop.region, 0, 8);
      assertEquals(1, loop.peer.post(receive));
      SendList list = new SendList(1, 0);
      list.sendWithInvalidate(0, rkey).signaled();
      assertEquals(1, loop.qp.post(list));
      loop.complete(2);
      write(loop, rkey, CompletionStatus.REM_ACCESS_ERR);
    }
  }

  @DeviceTest
  void closedWindowOfType2PermitsNoAccess() {
    try (Loop loop = new Loop()) {
      MemoryWindow window = boundToType2(loop);
      int rkey = window.rkey();
      write(loop, rkey, CompletionStatus.SUCCESS);
      window.close();
      write(loop, rkey, CompletionStatus.REM_ACCESS_ERR);
    }
  }

  private static MemoryWindow boundToType2(Loop loop) {
    MemoryWindow window = postedToType2(loop);
    window.bound(loop.peer, MemoryWindow.nextKey(window.rkey()), loop.region);
    return window;
  }

  private static MemoryWindow postedToType2(Loop loop) {
    MemoryWindow window = MemoryWindow.allocate(loop.pd, MemoryWindowType.TYPE_2);
    int rkey = MemoryWindow.nextKey(window.rkey());
    SendList list = new SendList(1, 0);
    list.bindMemoryWindow(0, window, rkey, new WindowBinding(loop.region, Loop.HALF, 64, WRITE))
        .signaled();
    assertEquals(1, loop.peer.post(list));
    loop.complete(1);
    return window;
  }

  @DeviceTest
  void windowsBindToRegionsOfTheExtendedFunction() {
    try (Loop loop = new Loop();
        Arena arena = Arena.ofShared()) {
      MemoryRegion region =
          Rig.orSkip(
              () ->
                  loop.pd
                      .memory(arena.allocate(Loop.SIZE))
                      .access(AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND)
                      .extended()
                      .register());
      MemoryWindow window = MemoryWindow.allocate(loop.pd, MemoryWindowType.TYPE_1);
      window.bind(loop.peer, 1, new WindowBinding(region, 0, 64, WRITE));
      loop.complete(1);
      loop.region.memory().setString(0, "shown");
      SendList list = new SendList(1, 1);
      list.write(0).local(loop.region, 0, 6).remote(region.start(), window.rkey()).signaled();
      assertEquals(1, loop.qp.post(list));
      loop.complete(1);
      assertEquals("shown", region.memory().getString(0));
      window.close();
      region.close();
    }
  }

  @DeviceTest
  void aBoundWindowDoesNotDelayClosing() {
    for (boolean noted : new boolean[] {true, false}) {
      for (int closed = 0; closed < 3; closed++) {
        Loop loop = new Loop();
        MemoryWindow window = noted ? boundToType2(loop) : postedToType2(loop);
        Resource first =
            switch (closed) {
              case 0 -> loop.context;
              case 1 -> loop.pd;
              default -> noted ? loop.cq : loop.context;
            };
        long start = System.nanoTime();
        first.close();
        Duration took = Duration.ofNanos(System.nanoTime() - start);
        assertFalse(window.isOpen());
        loop.close();
        // The kernel waits for 50 s and more for what refers to a queue pair.
        assertTrue(took.toSeconds() < 30, first + " took " + took);
      }
    }
  }

  @DeviceTest
  void onlyTwoTypesExist() {
    try (Context context = Rig.a().open()) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      assertEquals(2, MemoryWindowType.values().length);
      assertThrows(VerbsException.class, () -> pd.verbs().ibv_alloc_mw(pd.segment().address(), 3));
    }
  }
}
