package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.Await;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The software device refuses what some NIC refuses: keys, and slots of queues. */
@Tag("host")
class StrictRulesTest {
  /** The capacity of the queues of {@link SoftPair}. */
  private static final int CAPACITY = 16;

  // Keys

  private static CompletionStatus write(SoftPair pair, int remoteKey) {
    SendList list = new SendList(1, 1);
    list.write(0).local(pair.a.region, 0, 8).remote(pair.b.region.start(), remoteKey).signaled();
    assertEquals(1, pair.a.queuePair.post(list));
    CompletionStatus status = pair.completion();
    pair.reconnect();
    return status;
  }

  @Test
  void aLocalKeyOfThePeerIsNoRemoteKey() {
    try (SoftPair pair = SoftPair.connected()) {
      assertEquals(CompletionStatus.SUCCESS, write(pair, pair.b.region.rkey()));
      assertEquals(CompletionStatus.REM_ACCESS_ERR, write(pair, pair.b.region.lkey()));
    }
  }

  @Test
  void aKeyOfAnotherVariantOrOfAClosedRegionIsRefused() {
    try (SoftPair pair = SoftPair.connected()) {
      int key = pair.b.region.rkey();
      assertEquals(CompletionStatus.REM_ACCESS_ERR, write(pair, key ^ 0x01));
      assertEquals(CompletionStatus.REM_ACCESS_ERR, write(pair, key + 0x100));
      MemoryRegion other =
          pair.b.domain.registerMemory(
              pair.b.memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      assertEquals(CompletionStatus.SUCCESS, write(pair, other.rkey()));
      other.close();
      assertEquals(CompletionStatus.REM_ACCESS_ERR, write(pair, other.rkey()));
    }
  }

  @Test
  void aRemoteKeyIsNoLocalKeyOfASendOrAReceive() {
    try (SoftPair pair = SoftPair.connected()) {
      SendList sends = new SendList(1, 1);
      sends.send(0).local(pair.a.region, 0, 8).signaled();
      sends.localUnchecked(0, 0, pair.a.region.start(), 8, pair.a.region.rkey());
      assertEquals(1, pair.a.queuePair.post(sends));
      assertEquals(CompletionStatus.LOC_PROT_ERR, pair.completion());
      pair.reconnect();
      ReceiveList receives = new ReceiveList(1, 1);
      receives.local(0, pair.b.region, 0, 8);
      receives.localUnchecked(0, 0, pair.b.region.start(), 8, pair.b.region.rkey());
      assertEquals(1, pair.b.queuePair.post(receives));
      sends.local(0, pair.a.region, 0, 8);
      assertEquals(1, pair.a.queuePair.post(sends));
      assertEquals(CompletionStatus.LOC_PROT_ERR, SoftPair.await(pair.b.completions));
    }
  }

  @Test
  void keysDoNotFollowFromEachOther() {
    try (SoftPair pair = SoftPair.connected()) {
      List<Integer> indices = new ArrayList<>();
      for (int i = 0; i < 64; i++) {
        MemoryRegion region = pair.a.domain.registerMemory(pair.a.memory, AccessFlag.LOCAL_WRITE);
        indices.add(region.lkey() >>> 8);
        indices.add(region.rkey() >>> 8);
        region.close();
      }
      int near = 0;
      for (int i = 1; i < indices.size(); i++) {
        near += Math.abs(indices.get(i) - indices.get(i - 1)) < 1000 ? 1 : 0;
      }
      assertTrue(near < 10, near + " of 127 differences are less than 1000");
      assertNotEquals(indices.get(0), indices.get(2));
    }
  }

  // Slots

  private static SendList writes(SoftPair pair, int count) {
    SendList list = new SendList(count, 1);
    for (int i = 0; i < count; i++) {
      list.write(i).local(pair.a.region, 0, 8).remote(pair.b.region.start(), pair.b.region.rkey());
    }
    return list;
  }

  /** Waits until all requests are executed: then only a missing completion keeps the slots. */
  private static void awaitExecuted(SoftPair pair) {
    Await.until(
        "the end of all requests",
        () -> pair.network.engine.locked(() -> SoftInternals.of(pair.a.queuePair).sends.isEmpty()));
  }

  @Test
  void unsignaledRequestsFillAQueueForEver() {
    try (SoftPair pair = SoftPair.connected()) {
      SendList list = writes(pair, CAPACITY);
      assertEquals(CAPACITY, pair.a.queuePair.post(list));
      awaitExecuted(pair);
      assertEquals(0, pair.a.queuePair.post(list, 0, 1));
      assertEquals(0, pair.a.completions.poll(new Completions(1)));
      assertEquals(0, pair.a.queuePair.post(list, 0, 1));
    }
  }

  @Test
  void theCompletionOfASignaledRequestFreesItsSlotAndThoseBefore() {
    try (SoftPair pair = SoftPair.connected()) {
      SendList list = writes(pair, CAPACITY);
      list.signaled(9);
      assertEquals(CAPACITY, pair.a.queuePair.post(list));
      awaitExecuted(pair);
      assertEquals(0, pair.a.queuePair.post(list, 0, 1), "the completion was not polled");
      assertEquals(CompletionStatus.SUCCESS, pair.completion());
      assertEquals(10, pair.a.queuePair.post(list));
    }
  }

  @Test
  void aReceiveKeepsItsSlotUntilItsCompletionIsPolled() {
    try (SoftPair pair = SoftPair.connected()) {
      ReceiveList receives = new ReceiveList(CAPACITY + 1, 1);
      for (int i = 0; i <= CAPACITY; i++) {
        receives.local(i, pair.b.region, 0, 8);
      }
      assertEquals(CAPACITY, pair.b.queuePair.post(receives));
      SendList list = new SendList(1, 1);
      list.send(0).local(pair.a.region, 0, 8).signaled();
      assertEquals(1, pair.a.queuePair.post(list));
      assertEquals(CompletionStatus.SUCCESS, pair.completion());
      assertEquals(0, pair.b.queuePair.post(receives, 0, 1));
      assertEquals(CompletionStatus.SUCCESS, SoftPair.await(pair.b.completions));
      assertEquals(1, pair.b.queuePair.post(receives, 0, 2));
    }
  }

  @Test
  void aQueuePairThatIsResetHasAllSlots() {
    try (SoftPair pair = SoftPair.connected()) {
      SendList list = writes(pair, CAPACITY);
      assertEquals(CAPACITY, pair.a.queuePair.post(list));
      awaitExecuted(pair);
      pair.reconnect();
      assertEquals(CAPACITY, pair.a.queuePair.post(list));
    }
  }
}
