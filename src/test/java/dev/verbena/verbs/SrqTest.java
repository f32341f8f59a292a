package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static dev.verbena.testing.DeviceKind.SOFT_ROCE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AsyncEventType;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.SharedReceiveQueueAttributes;
import dev.verbena.values.SharedReceiveQueueType;
import java.time.Duration;
import java.util.Optional;

/** Shared receive queues, as rdma-core's test_srq.py tests them. */
class SrqTest {
  @DeviceTest
  void createsAndQueries() {
    try (Pair pair = new Pair()) {
      SharedReceiveQueue srq = SharedReceiveQueue.builder(pair.a.domain, 100).maxSges(3).create();
      SharedReceiveQueueAttributes now = srq.query();
      assertTrue(now.maxRequests() >= 100, now.toString());
      assertTrue(now.maxSges() >= 3, now.toString());
      assertEquals(0, now.limit());
      assertEquals(SharedReceiveQueueType.BASIC, srq.type());
      pair.a.domain.close();
      assertFalse(srq.isOpen());
      assertThrows(IllegalStateException.class, srq::query);
    }
  }

  @DeviceTest
  void servesTwoQueuePairs() {
    try (Pair pair = new Pair()) {
      SharedReceiveQueue srq = SharedReceiveQueue.create(pair.b.domain, 16);
      ReceiveList receives = new ReceiveList(2, 1);
      for (int i = 0; i < 2; i++) {
        receives.id(i, 100 + i);
        receives.local(i, pair.b.memory, i * 8L, 8);
      }
      assertEquals(2, srq.post(receives));
      for (int i = 0; i < 2; i++) {
        pair.a.queuePair = pair.a.builder(QueuePairType.RC).create();
        pair.b.queuePair = pair.b.builder(QueuePairType.RC).sharedReceiveQueue(srq).create();
        pair.connect();
        SendList send = new SendList(1, 1);
        send.send(0).local(pair.a.memory, 0, 8).signaled();
        pair.a.memory.memory().setString(0, "no. " + i);
        assertEquals(1, pair.a.queuePair.post(send));
        Completions received = pair.b.completion();
        assertTrue(received.isSuccess(0), received.describe(0));
        assertEquals(100 + i, received.id(0));
        assertEquals(pair.b.queuePair.number(), received.queuePairNumber(0));
        assertEquals("no. " + i, pair.b.memory.memory().getString(i * 8L));
        assertTrue(pair.a.completion().isSuccess(0));
      }
    }
  }

  @DeviceTest
  @On(
      value = {SOFTWARE, SOFT_ROCE},
      reason = "mlx5 does not resize shared receive queues")
  void queueIsResized() {
    try (Pair pair = new Pair()) {
      SharedReceiveQueue srq = SharedReceiveQueue.create(pair.a.domain, 16);
      srq.resize(200);
      assertTrue(srq.query().maxRequests() >= 200, srq.query().toString());
      int tooMany = pair.a.context.deviceAttributes().maxSharedReceiveQueueRequests() + 1;
      var thrown = assertThrows(VerbsException.class, () -> srq.resize(tooMany));
      assertTrue(thrown.getMessage().contains("shared receive queue"), thrown.getMessage());
      assertThrows(IllegalArgumentException.class, () -> srq.resize(0));
    }
  }

  @DeviceTest
  void raisesTheLimitEvent() throws Exception {
    try (Pair pair = new Pair()) {
      SharedReceiveQueue srq = SharedReceiveQueue.create(pair.b.domain, 16);
      ReceiveList receives = new ReceiveList(4, 1);
      for (int i = 0; i < 4; i++) {
        receives.local(i, pair.b.memory, 0, 8);
      }
      assertEquals(4, srq.post(receives));
      srq.limit(4);
      assertEquals(4, srq.query().limit());
      pair.a.queuePair = pair.a.builder(QueuePairType.RC).create();
      pair.b.queuePair = pair.b.builder(QueuePairType.RC).sharedReceiveQueue(srq).create();
      pair.connect();
      SendList send = new SendList(1, 1);
      send.send(0).local(pair.a.memory, 0, 8).signaled();
      assertEquals(send.size(), pair.a.queuePair.post(send));
      assertTrue(pair.b.completion().isSuccess(0));
      AsyncEvent event = AsyncEvents.of(pair.b.context).poll(Await.LIMIT);
      while (event != null && event.type() != AsyncEventType.SRQ_LIMIT_REACHED) {
        event = AsyncEvents.of(pair.b.context).poll(Await.LIMIT);
      }
      assertEquals(
          new AsyncEvent.OfSharedReceiveQueue(AsyncEventType.SRQ_LIMIT_REACHED, srq), event);
      assertEquals(0, srq.query().limit(), "an event disarms the limit");
    }
  }

  @DeviceTest
  @On(
      value = {SOFTWARE, SOFT_ROCE},
      reason = "libmlx5 refuses other numbers")
  void invalidCapacitiesThrow() {
    try (Pair pair = new Pair()) {
      assertThrows(
          IllegalArgumentException.class, () -> SharedReceiveQueue.create(pair.a.domain, 0));
      var builder = SharedReceiveQueue.builder(pair.a.domain, 1);
      assertThrows(IllegalArgumentException.class, () -> builder.maxSges(0));
      assertThrows(
          IllegalArgumentException.class,
          () -> builder.tagMatching(pair.a.completionQueue).maxTags(0).maxTagOperations(1));
      assertThrows(
          IllegalArgumentException.class,
          () -> builder.tagMatching(pair.b.completionQueue).maxTags(1).maxTagOperations(1));
      var tooMany =
          SharedReceiveQueue.builder(
              pair.a.domain, pair.a.context.deviceAttributes().maxSharedReceiveQueueRequests() + 1);
      var thrown = assertThrows(VerbsException.class, tooMany::create);
      assertTrue(thrown.getMessage().contains("the maximum is"), thrown.getMessage());
      SharedReceiveQueue srq = SharedReceiveQueue.create(pair.a.domain, 1);
      assertThrows(IllegalArgumentException.class, () -> srq.limit(-1));
      assertThrows(VerbsException.class, () -> srq.limit(1_000_000));
      assertThrows(VerbsException.class, srq::number);
      var elsewhere = pair.b.builder(QueuePairType.RC);
      assertThrows(IllegalArgumentException.class, () -> elsewhere.sharedReceiveQueue(srq));
      ReceiveList foreign = new ReceiveList(1, 1);
      foreign.local(0, pair.b.memory, 0, 8);
      assertThrows(IllegalArgumentException.class, () -> srq.post(foreign));
    }
  }

  @DeviceTest
  @On(SOFT_ROCE)
  void unsupportedTypesThrow() {
    try (Pair pair = new Pair()) {
      var noXrc = assertThrows(VerbsException.class, () -> XrcDomain.open(pair.a.context));
      assertTrue(noXrc.isUnsupported(), noXrc.getMessage());
      assertTrue(noXrc.getMessage().contains("does not support XRC"), noXrc.getMessage());
      var tagMatching =
          SharedReceiveQueue.builder(pair.a.domain, 1)
              .tagMatching(pair.a.completionQueue)
              .maxTags(8)
              .maxTagOperations(8);
      assertThrows(VerbsException.class, tagMatching::create);
    }
  }

  @DeviceTest
  @On(
      value = {SOFTWARE, SOFT_ROCE},
      reason = "mlx5 does not resize shared receive queues")
  void theLimitIsArmedAgain() throws Exception {
    try (Pair pair = new Pair()) {
      SharedReceiveQueue srq = SharedReceiveQueue.create(pair.b.domain, 16);
      ReceiveList receives = new ReceiveList(4, 1);
      for (int i = 0; i < 4; i++) {
        receives.local(i, pair.b.memory, 0, 8);
      }
      pair.a.queuePair = pair.a.builder(QueuePairType.RC).create();
      pair.b.queuePair = pair.b.builder(QueuePairType.RC).sharedReceiveQueue(srq).create();
      pair.connect();
      SendList send = new SendList(1, 1);
      send.send(0).local(pair.a.memory, 0, 8).signaled();
      for (int round = 0; round < 2; round++) {
        assertEquals(4, srq.post(receives));
        srq.limit(4 + 3 * round);
        pair.a.run(send);
        pair.b.completion(CompletionStatus.SUCCESS);
        AsyncEvent event = null;
        while (event == null || event.type() != AsyncEventType.SRQ_LIMIT_REACHED) {
          event = AsyncEvents.of(pair.b.context).poll(Await.LIMIT);
          assertTrue(event != null, "no event");
        }
        assertEquals(0, srq.query().limit(), "an event disarms the limit");
        srq.resize(32 << round);
        assertTrue(srq.query().maxRequests() >= 32 << round, srq.query().toString());
      }
    }
  }

  @DeviceTest
  void isNotDestroyedInUse() {
    try (Pair pair = new Pair()) {
      SharedReceiveQueue srq = SharedReceiveQueue.create(pair.b.domain, 16);
      QueuePair qp = pair.b.builder(QueuePairType.RC).sharedReceiveQueue(srq).create();
      var thrown =
          assertThrows(
              VerbsException.class, () -> pair.b.context.verbs().ibv_destroy_srq(srq.address()));
      assertEquals(Errno.EBUSY, thrown.errno());
      srq.close();
      assertFalse(qp.isOpen());
    }
  }

  @DeviceTest
  void raisesTheLastWqeEvent() throws Exception {
    try (Pair pair = new Pair()) {
      SharedReceiveQueue srq = SharedReceiveQueue.create(pair.b.domain, 16);
      pair.a.queuePair = pair.a.builder(QueuePairType.RC).create();
      pair.b.queuePair = pair.b.builder(QueuePairType.RC).sharedReceiveQueue(srq).create();
      pair.connect();
      assertFalse(pair.b.queuePair.isLastWqeReached());
      pair.b.queuePair.fail();
      // Soft-RoCE tells it since kernel 6.3.
      boolean tells = !Rig.labGuest().equals(Optional.of("bookworm"));
      Duration patience = tells ? Await.LIMIT : Duration.ofMillis(500);
      AsyncEvent event = AsyncEvents.of(pair.b.context).poll(patience);
      assertEquals(
          tells
              ? new AsyncEvent.OfQueuePair(AsyncEventType.QP_LAST_WQE_REACHED, pair.b.queuePair)
              : null,
          event);
      assertEquals(tells, pair.b.queuePair.isLastWqeReached());
      if (Rig.isSoftware()) { // Soft-RoCE may tell it again.
        pair.b.queuePair.fail();
        assertNull(AsyncEvents.of(pair.b.context).poll());
      }
      pair.b.queuePair.reset();
      assertFalse(pair.b.queuePair.isLastWqeReached());
    }
  }
}
