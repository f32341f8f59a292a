package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.raw.ibv_recv_wr;
import dev.verbena.raw.rdma_h;
import dev.verbena.testing.DeviceTest;
import dev.verbena.util.ReceiveRing;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Receive requests that are posted again after they were handled. */
class ReceiveRingTest {
  private final Arena arena = Arena.ofShared();
  private final RecordingDevice device = new RecordingDevice();
  private final ProtectionDomain domain = device.context.allocateProtectionDomain();
  private final CompletionQueue queue = device.context.createCompletionQueue(16);
  private final MemoryRegion region =
      domain.registerMemory(arena.allocate(64), AccessFlag.LOCAL_WRITE);
  private final QueuePair pair =
      QueuePair.builder(domain, QueuePairType.RC)
          .completions(queue)
          .capacity(QueuePairCapacity.of(8))
          .create();
  private final Completions completions = new Completions(8);
  private final ReceiveRing ring = new ReceiveRing(pair, requests(4));

  private ReceiveList requests(int count) {
    ReceiveList list = new ReceiveList(count, 1);
    for (int i = 0; i < count; i++) {
      list.local(i, region, i * 8L, 8);
    }
    return list;
  }

  @AfterEach
  void close() {
    device.close();
    arena.close();
  }

  /** The numbers of the requests that C took, from one of them on. */
  private List<Long> takenSince(int first) {
    return IntStream.range(first, device.received)
        .mapToObj(i -> ibv_recv_wr.wr_id(device.receive(i)))
        .toList();
  }

  @Test
  void ringWithAFirstIdPassesOverOtherCompletions() {
    ReceiveRing second = new ReceiveRing(pair, requests(2), 1);
    second.start();
    assertEquals(List.of(1L, 2L), takenSince(0));
    poll(4); // The ids 0 to 3.
    assertEquals(
        List.of(false, true, true, false),
        IntStream.range(0, 4).mapToObj(i -> second.owns(completions, i)).toList());
    List<Integer> handled = new ArrayList<>();
    assertEquals(
        2,
        second.handle(
            completions,
            (batch, i, request) -> {
              handled.add(request);
              return true;
            }));
    assertEquals(List.of(0, 1), handled);
    assertEquals(List.of(1L, 2L), takenSince(2));
  }

  /** Completes requests in the order of their numbers. */
  private void poll(int count) {
    device.completed = count;
    assertEquals(count, queue.poll(completions));
  }

  @Test
  void requestsAreNumberedPostedAndPostedAgain() {
    ring.start();
    assertEquals(List.of(0L, 1L, 2L, 3L), takenSince(0));
    poll(3);
    List<Integer> handled = new ArrayList<>();
    assertEquals(3, ring.handle(completions, (batch, i, request) -> handled.add(request)));
    assertEquals(List.of(0, 1, 2), handled);
    assertEquals(List.of(0L, 1L, 2L), takenSince(4));
  }

  @Test
  void consecutiveRequestsArePostedWithOneCall() {
    ring.start();
    poll(4);
    int before = device.receivePosts;
    assertEquals(3, ring.handle(completions, (batch, i, request) -> request != 1));
    assertEquals(List.of(0L, 2L, 3L), takenSince(4));
    assertEquals(2, device.receivePosts - before);
  }

  @Test
  void failedRequestsAreNotPostedAgain() {
    ring.start();
    device.status = rdma_h.IBV_WC_WR_FLUSH_ERR();
    poll(4);
    List<CompletionStatus> seen = new ArrayList<>();
    assertEquals(0, ring.handle(completions, (batch, i, request) -> seen.add(batch.status(i))));
    assertEquals(4, seen.size());
    assertEquals(4, device.received);
  }

  @Test
  void whenAHandlerThrowsTheRestOfTheBatchIsHandledAndPostedAgain() {
    ring.start();
    poll(4);
    List<Integer> handled = new ArrayList<>();
    var thrown =
        assertThrows(
            UnsupportedOperationException.class,
            () ->
                ring.handle(
                    completions,
                    (batch, i, request) -> {
                      handled.add(request);
                      if (request == 1 || request == 2) {
                        throw new UnsupportedOperationException("receive " + request);
                      }
                      return true;
                    }));
    assertEquals(List.of(0, 1, 2, 3), handled);
    assertEquals(List.of(0L, 3L), takenSince(4));
    assertEquals("receive 1", thrown.getMessage());
    assertEquals("receive 2", thrown.getSuppressed()[0].getMessage());
  }

  /** Posting request 0 fails as soon as request 2 was handled. */
  private RuntimeException thrownByAFailedPost() {
    ring.start();
    poll(4);
    RuntimeException thrown =
        assertThrows(
            RuntimeException.class,
            () ->
                ring.handle(
                    completions,
                    (batch, i, request) -> {
                      device.room = request == 2 ? 0 : 9;
                      return request != 1;
                    }));
    assertEquals(List.of(2L, 3L), takenSince(4));
    return thrown;
  }

  @Test
  void whenAPostOfARangeFailsTheNextRangeIsPosted() {
    device.refusal = Errno.EINVAL;
    assertTrue(thrownByAFailedPost().getMessage().contains("request 0"));
  }

  @Test
  void whenARangeDoesNotFitTheNextRangeIsPosted() {
    String message = thrownByAFailedPost().getMessage();
    assertTrue(message.endsWith("from request 0 on"), message);
  }

  @Test
  void nullThrows() {
    ReceiveList list = requests(1);
    assertThrows(NullPointerException.class, () -> new ReceiveRing(null, list));
    assertThrows(NullPointerException.class, () -> new ReceiveRing(pair, null));
    assertThrows(NullPointerException.class, () -> ring.handle(null, (batch, i, request) -> true));
    assertThrows(NullPointerException.class, () -> ring.handle(completions, null));
  }

  @Test
  void fullQueueThrows() {
    device.room = 3;
    String message = assertThrows(IllegalStateException.class, ring::start).getMessage();
    assertTrue(message.contains("is full: 1 requests"), message);
  }

  @Test
  void completionsOfOtherRequestsThrow() {
    ring.start();
    poll(5);
    assertThrows(
        IllegalStateException.class, () -> ring.handle(completions, (batch, i, request) -> true));
    assertEquals(List.of(0L, 1L, 2L, 3L), takenSince(4), "the ring's own are posted again");
  }

  @DeviceTest
  void streamOfMessagesIsReceived() {
    try (Loop loop = new Loop()) {
      CompletionQueue received = loop.context.createCompletionQueue(16);
      QueuePair sender = pair(loop, loop.cq, loop.cq);
      QueuePair receiver = pair(loop, loop.cq, received);
      sender.connect(receiver.localAddress());
      receiver.connect(sender.localAddress());
      ReceiveList receives = new ReceiveList(4, 1);
      for (int i = 0; i < 4; i++) {
        receives.local(i, loop.region, Loop.HALF + i * 64L, 64);
      }
      ReceiveRing stream = new ReceiveRing(receiver, receives);
      stream.start();
      SendList sends = new SendList(1, 1);
      long[] sum = new long[1];
      int messages = 100;
      for (int i = 0; i < messages; i++) {
        sends.sendWithImmediate(0, i).local(loop.region, 0, 64).signaled();
        assertEquals(1, sender.post(sends));
        loop.complete(1);
        while (received.poll(completions) == 0) {
          Thread.onSpinWait();
        }
        stream.handle(
            completions,
            (batch, index, request) -> {
              sum[0] += batch.immediate(index);
              return true;
            });
      }
      assertEquals(messages * (messages - 1) / 2, sum[0]);
    }
  }

  private static QueuePair pair(Loop loop, CompletionQueue sends, CompletionQueue receives) {
    return QueuePair.builder(loop.pd, QueuePairType.RC)
        .sendCompletions(sends)
        .receiveCompletions(receives)
        .capacity(QueuePairCapacity.of(8))
        .create();
  }
}
