package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.raw.ibv_send_wr;
import dev.verbena.testing.DeviceTest;
import dev.verbena.util.SendRing;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;

/** Send requests that are posted again after they have completed. */
class SendRingTest {
  private static final int SIZE = 64;
  private static final int SIGNALED = 4;
  private static final long COUNT = 20_000;

  private final Arena arena = Arena.ofShared();
  private RecordingDevice device;

  @AfterEach
  void close() {
    if (device != null) {
      device.close();
    }
    arena.close();
  }

  private SendRing recorded(int size, long firstId) {
    device = new RecordingDevice();
    ProtectionDomain domain = device.context.allocateProtectionDomain();
    MemoryRegion region = domain.registerMemory(arena.allocate(64));
    QueuePair pair =
        QueuePair.builder(domain, QueuePairType.RC)
            .completions(device.context.createCompletionQueue(16))
            .capacity(QueuePairCapacity.of(8))
            .create();
    SendList list = new SendList(size, 1);
    for (int i = 0; i < size; i++) {
      list.send(i).local(region, 0, 8).signaled();
    }
    return new SendRing(pair, list, firstId);
  }

  /** The ids of the requests that C took, from one of them on. */
  private List<Long> sentSince(int first) {
    return LongStream.range(first, device.sent)
        .map(i -> ibv_send_wr.wr_id(device.send((int) i)))
        .boxed()
        .toList();
  }

  private Completions poll(int count) {
    Completions completions = new Completions(8);
    device.completed = count;
    assertEquals(count, device.context.createCompletionQueue(8).poll(completions));
    return completions;
  }

  private static void take(SendRing ring, int... expected) {
    for (int index : expected) {
      assertEquals(index, ring.next());
    }
  }

  @Test
  void requestsThatHaveCompletedArePostedAgain() {
    SendRing ring = recorded(4, 1);
    take(ring, 0, 1, 2, 3, -1);
    assertEquals(4, ring.post());
    assertEquals(0, ring.post());
    assertEquals(List.of(1L, 2L, 3L, 4L), sentSince(0));
    assertEquals(3, ring.completed(poll(4)), "with the ids 0 to 3");
    take(ring, 0, 1, 2, -1);
    assertEquals(3, ring.post());
    assertEquals(List.of(1L, 2L, 3L), sentSince(4));
  }

  @Test
  void aCompletionCompletesTheRequestsBeforeIt() {
    SendRing ring = recorded(4, -2);
    take(ring, 0, 1, 2, 3);
    assertEquals(4, ring.post());
    assertEquals(3, ring.completed(poll(1)), "with the id 0, of request 2");
    take(ring, 0, 1, 2, -1);
  }

  @Test
  void whatAFullQueueDoesNotTakeIsPostedLater() {
    SendRing ring = recorded(4, 0);
    device.room = 3;
    take(ring, 0, 1, 2, 3);
    assertEquals(3, ring.post());
    assertEquals(0, ring.post());
    assertEquals(2, ring.completed(poll(2)));
    take(ring, 0, 1, -1);
    device.room = 2;
    assertEquals(2, ring.post());
    device.room = 9;
    assertEquals(1, ring.post());
    assertEquals(List.of(0L, 1L, 2L, 3L, 0L, 1L), sentSince(0));
  }

  @Test
  void theRequestThatFailedIsPostedNext() {
    SendRing ring = recorded(4, 0);
    device.refusal = Errno.EINVAL;
    device.room = 2;
    take(ring, 0, 1, 2, 3);
    assertThrows(VerbsException.class, ring::post);
    assertEquals(List.of(0L, 1L), sentSince(0));
    assertThrows(VerbsException.class, ring::post);
    device.namesRefused = false;
    assertThrows(VerbsException.class, ring::post);
    device.room = 9;
    assertEquals(2, ring.post());
    assertEquals(List.of(0L, 1L, 2L, 3L), sentSince(0));
  }

  /**
   * The numbers of the requests are in their memory, which the poster changes once they are done.
   */
  @DeviceTest
  void aPosterAndAPollerKeepTheQueueFull(TestInfo test) throws Exception {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      MemorySegment numbers = arena.allocate(SIZE * 8L, 8);
      MemoryRegion region = pair.a.domain.registerMemory(numbers);
      MemoryRegion target =
          pair.b.domain.registerMemory(
              arena.allocate(SIZE * 8L, 8), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      SendList list = new SendList(SIZE, 1);
      for (int i = 0; i < SIZE; i++) {
        list.write(i).local(region, i * 8L, 8).remote(target.start() + i * 8L, target.rkey());
        if (i % SIGNALED == SIGNALED - 1) {
          list.signaled(i);
        }
      }
      SendRing ring = new SendRing(pair.a.queuePair, list, 100);
      long next = 0;
      for (int i = ring.next(); i >= 0; i = ring.next()) {
        numbers.setAtIndex(ValueLayout.JAVA_LONG, i, next++);
      }
      assertTrue(ring.post() < SIZE, "the queue is full");
      var polling = new FutureTask<Void>(() -> poll(pair.a.completionQueue, ring, numbers), null);
      Thread poller = new Thread(polling, test.getDisplayName());
      poller.start();
      while (!polling.isDone()) {
        int i = next < COUNT ? ring.next() : -1;
        if (i >= 0) {
          numbers.setAtIndex(ValueLayout.JAVA_LONG, i, next++);
        }
        var _ = ring.post();
      }
      polling.get();
      assertEquals(COUNT, next);
    }
  }

  private static void poll(CompletionQueue queue, SendRing ring, MemorySegment numbers) {
    Completions completions = new Completions(8);
    long done = 0;
    while (done < COUNT) {
      int polled = queue.poll(completions);
      long before = done;
      for (int i = 0; i < polled; i++) {
        assertTrue(completions.isSuccess(i), completions.describe(i));
        assertTrue(ring.owns(completions, i));
        for (int of = 0; of < SIGNALED; of++, done++) {
          assertEquals(done, numbers.getAtIndex(ValueLayout.JAVA_LONG, done % SIZE));
        }
        assertEquals(100 + (done - 1) % SIZE, completions.id(i));
      }
      assertEquals(done - before, ring.completed(completions));
    }
  }
}
