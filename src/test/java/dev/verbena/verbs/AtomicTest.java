package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.DeviceTest;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.TreeSet;

/** Atomics, as rdma-core's test_atomic.py tests them. */
class AtomicTest {
  private static final AccessFlag[] ATOMIC = {AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_ATOMIC};

  private static long value(MemoryRegion region) {
    return region.memory().get(ValueLayout.JAVA_LONG, 0);
  }

  @DeviceTest
  void comparesAndSwaps() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      MemoryRegion counter = pair.b.page(ATOMIC).register();
      counter.memory().set(ValueLayout.JAVA_LONG, 0, 7);
      SendList list = new SendList(1, 1);
      list.compareAndSwap(0, 7, 8)
          .local(pair.a.memory, 0, 8)
          .remote(counter.start(), counter.rkey())
          .signaled();
      pair.a.run(list);
      assertEquals(7, value(pair.a.memory));
      assertEquals(8, value(counter));
      pair.a.run(list);
      assertEquals(8, value(pair.a.memory));
      assertEquals(8, value(counter), "not what was expected, not swapped");
    }
  }

  @DeviceTest
  void fetchesAndAdds() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      MemoryRegion counter = pair.b.page(ATOMIC).register();
      for (int i = 0; i < 10; i++) {
        pair.a.run(add(pair, counter, counter.rkey()));
        assertEquals(i * 3L, value(pair.a.memory));
      }
      assertEquals(30, value(counter));
    }
  }

  private static SendList add(Pair pair, MemoryRegion counter, int rkey) {
    SendList list = new SendList(1, 1);
    list.fetchAndAdd(0, 3).local(pair.a.memory, 0, 8).remote(counter.start(), rkey).signaled();
    return list;
  }

  @DeviceTest
  void countsForTwoPeers() {
    try (Pair first = Pair.connected(QueuePairType.RC)) {
      MemoryRegion counter = first.b.page(ATOMIC).register();
      QueuePair second = first.a.builder(QueuePairType.RC).create();
      QueuePair target = first.b.builder(QueuePairType.RC).create();
      target.connect(second.localAddress());
      second.connect(target.localAddress());
      int rounds = 8;
      SendList list = new SendList(rounds, 1);
      for (int i = 0; i < rounds; i++) {
        list.fetchAndAdd(i, 1).remote(counter.start(), counter.rkey()).signaled();
      }
      for (int peer = 0; peer < 2; peer++) {
        for (int i = 0; i < rounds; i++) {
          list.local(i, first.a.memory, (peer * rounds + i) * 8L, 8);
        }
        assertEquals(rounds, (peer == 0 ? first.a.queuePair : second).post(list));
      }
      for (int i = 0; i < 2 * rounds; i++) {
        first.a.completion(CompletionStatus.SUCCESS);
      }
      long all = 2L * rounds;
      assertEquals(all, value(counter));
      MemorySegment told = first.a.memory.memory().asSlice(0, all * Long.BYTES);
      TreeSet<Long> values = new TreeSet<>();
      for (long before : told.toArray(ValueLayout.JAVA_LONG)) {
        values.add(before);
      }
      assertEquals(all, values.size(), values.toString());
      assertEquals(0, values.first());
      assertEquals(all - 1, values.last());
    }
  }

  @DeviceTest
  void queuePairWithoutAtomicAccessRejectsTheRequest() {
    try (Pair pair = new Pair(QueuePairType.RC)) {
      MemoryRegion counter = pair.b.page(ATOMIC).register();
      pair.b.queuePair.setup().access(AccessFlag.REMOTE_WRITE);
      pair.connect();
      pair.a.run(add(pair, counter, counter.rkey()), CompletionStatus.REM_INV_REQ_ERR);
      assertEquals(0, value(counter));
    }
  }

  @DeviceTest
  void regionWithoutAtomicAccessRejectsTheRequest() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      MemoryRegion counter = pair.b.page(AccessFlag.LOCAL_WRITE).register();
      pair.a.run(add(pair, counter, counter.rkey()), CompletionStatus.REM_ACCESS_ERR);
      assertEquals(0, value(counter));
    }
  }

  @DeviceTest
  void unalignedAddressThrows() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      MemoryRegion counter = pair.b.page(ATOMIC).register();
      SendRequest request = new SendList(1, 1).fetchAndAdd(0, 3);
      var thrown =
          assertThrows(
              IllegalArgumentException.class,
              () -> request.remote(counter.start() + 1, counter.rkey()));
      assertTrue(thrown.getMessage().contains("divisible by 8"), thrown.getMessage());
    }
  }

  @DeviceTest
  void wrongLocalKeyFailsTheRequest() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      MemoryRegion counter = pair.b.page(ATOMIC).register();
      SendList list = add(pair, counter, counter.rkey());
      list.localUnchecked(0, 0, pair.a.memory.start(), 8, pair.a.memory.lkey() + 1);
      pair.a.run(list, CompletionStatus.LOC_PROT_ERR);
    }
  }

  @DeviceTest
  void wrongRemoteKeyFailsTheRequest() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      MemoryRegion counter = pair.b.page(ATOMIC).register();
      pair.a.run(add(pair, counter, counter.rkey() + 1), CompletionStatus.REM_ACCESS_ERR);
      assertEquals(0, value(counter));
    }
  }
}
