package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.address.QueuePairAddress;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairType;

/** Memory whose writes need keep no order, as rdma-core's test_relaxed_ordering.py uses it. */
class RelaxedOrderingTest {
  private static final AccessFlag[] RELAXED = {
    AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.RELAXED_ORDERING
  };

  @DeviceTest
  void carriesMessages() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      MemoryRegion from = pair.a.page(RELAXED).register();
      MemoryRegion to = pair.b.page(RELAXED).register();
      SendList list = new SendList(1, 1);
      list.send(0).local(from, 0, 1024).signaled();
      for (int i = 0; i < 10; i++) {
        from.memory().fill((byte) (i + 1));
        pair.b.receive(i, to);
        pair.a.run(list);
        pair.b.completion(CompletionStatus.SUCCESS);
        assertEquals(-1, from.memory().asSlice(0, 1024).mismatch(to.memory().asSlice(0, 1024)));
      }
    }
  }

  @DeviceTest
  void carriesDatagrams() {
    try (Pair pair = Pair.inUse(QueuePairType.UD, builder -> builder)) {
      MemoryRegion from = pair.a.page(RELAXED).register();
      MemoryRegion to = pair.b.page(RELAXED).register();
      QueuePairAddress b = pair.b.queuePair.localAddress();
      SendList list = new SendList(1, 1);
      list.send(0).local(from, 0, 512).to(pair.handleToB(), b.number(), b.queueKey()).signaled();
      from.memory().fill((byte) 5);
      pair.b.receive(1, to);
      pair.a.run(list);
      pair.b.completion(CompletionStatus.SUCCESS);
      assertEquals(-1, from.memory().asSlice(0, 512).mismatch(to.memory().asSlice(40, 512)));
    }
  }

  @DeviceTest
  void isRegisteredByTheFunctionThatKnowsAllKinds() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      MemoryRegion to = Rig.orSkip(() -> pair.b.page(RELAXED).extended().register());
      pair.a.memory.memory().fill((byte) 9);
      SendList list = new SendList(1, 1);
      list.write(0).local(pair.a.memory, 0, 1024).remote(to.start(), to.rkey()).signaled();
      pair.a.run(list);
      Await.until(
          "the data of the write",
          () -> to.memory().get(java.lang.foreign.ValueLayout.JAVA_BYTE, 1023) == 9);
    }
  }
}
