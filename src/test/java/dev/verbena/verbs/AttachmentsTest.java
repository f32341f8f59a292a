package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.address.Gid;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.MemoryWindowType;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.Arena;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * What keeps C from giving an object back, besides what was made on it: windows that are bound to a
 * region, multicast groups that a queue pair is attached to.
 */
class AttachmentsTest extends FakeDeviceFixture {
  private static final Gid GROUP = Gid.parse("::ffff:239.7.7.7");
  private static final Gid OTHER_GROUP = Gid.parse("::ffff:239.7.7.8");

  private MemoryRegion register(ProtectionDomain domain, Arena arena) {
    return domain
        .memory(arena.allocate(64))
        .access(AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND)
        .register();
  }

  private static WindowBinding part(MemoryRegion region) {
    return new WindowBinding(region, 0, 64, Set.of(AccessFlag.REMOTE_WRITE));
  }

  private QueuePair queuePair(QueuePairType type) {
    QueuePair queuePair =
        QueuePair.builder(pd, type)
            .completions(context.createCompletionQueue(8))
            .capacity(QueuePairCapacity.of(4))
            .create();
    if (type == QueuePairType.RC) {
      queuePair.connect(queuePair.localAddress()); // Windows are bound in RTS.
    }
    return queuePair;
  }

  /** A window of type 2 that a completed request has bound. */
  private void bindType2(QueuePair qp, MemoryWindow window, MemoryRegion region) {
    complete(qp, window, region);
    window.bound(qp, MemoryWindow.nextKey(window.rkey()), region);
  }

  private void complete(QueuePair qp, MemoryWindow window, MemoryRegion region) {
    provider
        .internals()
        .bind(window.segment().address(), region.segment().address(), qp.segment().address());
  }

  private static void awaitCompletion(CompletionQueue queue, long id) {
    Completions completions = new Completions(1);
    do {
      Await.until("completion " + id, () -> queue.poll(completions) > 0);
      assertTrue(completions.isSuccess(0), completions.describe(0));
    } while (completions.id(0) != id);
  }

  @Test
  void aWindowOfType1GoesBeforeItsRegion() {
    QueuePair qp = queuePair(QueuePairType.RC);
    MemoryWindow older = MemoryWindow.allocate(pd, MemoryWindowType.TYPE_1);
    MemoryRegion region = register(pd, arena);
    MemoryWindow newer = MemoryWindow.allocate(pd, MemoryWindowType.TYPE_1);
    older.bind(qp, 1, part(region));
    newer.bind(qp, 2, part(region));
    pd.close();
    assertFalse(older.isOpen() || newer.isOpen() || region.isOpen());
  }

  @Test
  void aWindowOfType2GoesBeforeItsRegion() {
    QueuePair qp = queuePair(QueuePairType.RC);
    MemoryWindow older = MemoryWindow.allocate(pd, MemoryWindowType.TYPE_2);
    MemoryRegion region = register(pd, arena);
    MemoryWindow newer = MemoryWindow.allocate(pd, MemoryWindowType.TYPE_2);
    bindType2(qp, older, region);
    bindType2(qp, newer, region);
    pd.close();
    assertFalse(older.isOpen() || newer.isOpen() || region.isOpen());
  }

  @Test
  void aWindowOfType2GoesBeforeItsQueuePair() {
    CompletionQueue cq = context.createCompletionQueue(8);
    QueuePair first = QueuePair.builder(pd, QueuePairType.RC).completions(cq).create();
    QueuePair second = QueuePair.builder(pd, QueuePairType.RC).completions(cq).create();
    MemoryRegion region = register(pd, arena);
    MemoryWindow window = MemoryWindow.allocate(pd, MemoryWindowType.TYPE_2);
    MemoryWindow invalidated = MemoryWindow.allocate(pd, MemoryWindowType.TYPE_2);
    bindType2(first, window, region);
    bindType2(second, window, region);
    bindType2(second, invalidated, region);
    provider.internals().bind(invalidated.segment().address(), 0, 0);
    invalidated.invalidated();
    first.close();
    assertTrue(window.isOpen());
    cq.close();
    assertFalse(second.isOpen() || window.isOpen());
    assertTrue(invalidated.isOpen());
  }

  @Test
  void windowsAreClosedFirst() {
    for (boolean all : new boolean[] {false, true}) {
      ProtectionDomain domain = context.allocateProtectionDomain();
      MemoryRegion region = register(domain, arena);
      MemoryWindow window = MemoryWindow.allocate(domain, MemoryWindowType.TYPE_2);
      CompletionQueue cq = context.createCompletionQueue(8);
      QueuePair qp = QueuePair.builder(domain, QueuePairType.RC).completions(cq).create();
      complete(qp, window, region);
      if (all) {
        context.close();
      } else {
        domain.close();
      }
      assertFalse(window.isOpen() || qp.isOpen() || region.isOpen());
    }
  }

  @Test
  void regionClosedByItsArenaClosesItsWindows() {
    MemoryWindow window = MemoryWindow.allocate(pd, MemoryWindowType.TYPE_1);
    MemoryRegion region;
    try (Arena memory = Arena.ofShared()) {
      region = register(pd, memory);
      window.bind(queuePair(QueuePairType.RC), 1, part(region));
    }
    assertFalse(region.isOpen(), "it would stand on freed memory");
    assertFalse(window.isOpen());
  }

  @Test
  void aWindowThatIsBoundElsewhereStaysOpen() {
    CompletionQueue queue = context.createCompletionQueue(8);
    QueuePair qp =
        QueuePair.builder(pd, QueuePairType.RC)
            .completions(queue)
            .capacity(QueuePairCapacity.of(4))
            .create();
    qp.connect(qp.localAddress());
    MemoryWindow type1 = MemoryWindow.allocate(pd, MemoryWindowType.TYPE_1);
    MemoryWindow type2 = MemoryWindow.allocate(pd, MemoryWindowType.TYPE_2);
    MemoryRegion first = register(pd, arena);
    MemoryRegion second = register(pd, arena);
    type1.bind(qp, 1, part(first));
    bindType2(qp, type2, first);
    type1.bind(qp, 2, part(second));
    bindType2(qp, type2, second);
    awaitCompletion(queue, 2);
    first.close();
    assertTrue(type1.isOpen() && type2.isOpen());
    type1.unbind(qp, 3);
    awaitCompletion(queue, 3);
    provider.internals().bind(type2.segment().address(), 0, 0);
    type2.invalidated();
    second.close();
    assertTrue(type1.isOpen() && type2.isOpen());
    pd.close();
    assertFalse(type1.isOpen() || type2.isOpen());
  }

  @Test
  void failedDeregistrationNamesWindows() {
    MemoryWindow window = MemoryWindow.allocate(pd, MemoryWindowType.TYPE_2);
    MemoryRegion region = register(pd, arena);
    provider.internals().bind(window.segment().address(), region.segment().address(), 0);
    VerbsException refusal = assertThrows(VerbsException.class, region::close);
    assertEquals(Errno.EBUSY, refusal.errno());
    assertTrue(refusal.getMessage().contains("MemoryWindow.bound"), refusal.getMessage());
    window.close();
  }

  @Test
  void onlyWindowsOfType2AreInvalidated() {
    MemoryWindow window = MemoryWindow.allocate(pd, MemoryWindowType.TYPE_1);
    assertThrows(IllegalStateException.class, window::invalidated);
  }

  @Test
  void aQueuePairLeavesItsGroups() {
    QueuePair qp = queuePair(QueuePairType.UD);
    qp.attachMulticast(GROUP, 0);
    qp.attachMulticast(GROUP, 0);
    qp.attachMulticast(OTHER_GROUP, 7);
    qp.detachMulticast(GROUP, 0);
    var notAttached = assertThrows(VerbsException.class, () -> qp.detachMulticast(GROUP, 0));
    assertEquals(Errno.EINVAL, notAttached.errno());
    qp.attachMulticast(GROUP, 0);
    context.close();
    assertFalse(qp.isOpen());
    assertThrows(IllegalStateException.class, () -> qp.attachMulticast(GROUP, 0));
    assertThrows(IllegalStateException.class, () -> qp.detachMulticast(GROUP, 0));
  }

  @Test
  void removedGroupDoesNotKeepItsQueuePair() {
    QueuePair qp = queuePair(QueuePairType.UD);
    qp.attachMulticast(GROUP, 0);
    new MulticastGroups(qp).detach(GROUP, 0);
    qp.close();
    assertFalse(qp.isOpen());
  }

  @DeviceTest
  void aContextClosesWithItsGroups() {
    Context device = Rig.a().open();
    QueuePair qp =
        QueuePair.builder(device.allocateProtectionDomain(), QueuePairType.UD)
            .completions(device.createCompletionQueue(8))
            .create();
    qp.attachMulticast(GROUP, 0);
    qp.attachMulticast(GROUP, 0);
    qp.attachMulticast(OTHER_GROUP, 0);
    device.close();
    assertFalse(qp.isOpen());
  }

  @DeviceTest
  void aDomainClosesWithItsWindows() {
    try (Loop loop = new Loop()) {
      MemoryWindow[] windows = new MemoryWindow[4];
      allocate(loop.pd, windows, 0);
      try (Arena memory = Arena.ofShared()) {
        MemoryRegion region = register(loop.pd, memory);
        allocate(loop.pd, windows, 2);
        SendList list = new SendList(1, 0);
        for (MemoryWindow window : windows) {
          if (window.type() == MemoryWindowType.TYPE_1) {
            window.bind(loop.qp, 1, part(region));
            loop.complete(1);
          } else {
            int rkey = MemoryWindow.nextKey(window.rkey());
            list.bindMemoryWindow(0, window, rkey, part(region)).signaled();
            assertEquals(1, loop.qp.post(list));
            loop.complete(1);
            window.bound(loop.qp, rkey, region);
          }
        }
        loop.pd.close();
        assertFalse(region.isOpen());
      }
      for (MemoryWindow window : windows) {
        assertFalse(window.isOpen());
      }
    }
  }

  private static void allocate(ProtectionDomain domain, MemoryWindow[] windows, int from) {
    windows[from] = MemoryWindow.allocate(domain, MemoryWindowType.TYPE_1);
    windows[from + 1] = MemoryWindow.allocate(domain, MemoryWindowType.TYPE_2);
  }
}
