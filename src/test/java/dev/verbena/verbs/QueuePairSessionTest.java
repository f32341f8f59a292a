package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionOpcode;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.function.Executable;

/** Sessions: each test runs on direct queue pairs and on others. */
class QueuePairSessionTest {
  private static final long PAGE = 4096;

  private static QueuePairSession session(Pair pair, int requests) {
    return QueuePairSession.on(pair.a.queuePair, pair.a.completionQueue, requests);
  }

  private static void post(QueuePairSession session, int from, int count) {
    int[] posted = {0};
    Await.until(
        "room in the send queue",
        () -> (posted[0] += session.post(from + posted[0], count - posted[0])) == count);
  }

  private static void next(QueuePairSession session) {
    Await.until("a completion", session::next);
  }

  private static void completed(QueuePairSession session, long id, CompletionOpcode opcode) {
    next(session);
    assertTrue(session.isSuccess(), session::describe);
    assertEquals(id, session.id());
    assertEquals(CompletionStatus.SUCCESS, session.status());
    assertEquals(opcode, session.opcode());
    assertFalse(session.isReceive());
    assertEquals(session.queuePair().number(), session.queuePairNumber());
  }

  private static String refused(Class<? extends RuntimeException> type, Executable call) {
    return assertThrows(type, call).getMessage();
  }

  @DeviceTest
  void eachOperationAndEachPatch() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      MemoryRegion near = pair.a.memory;
      MemoryRegion far = pair.b.memory;
      for (int i = 0; i < PAGE; i += 8) {
        near.memory().set(ValueLayout.JAVA_LONG, i, i);
      }
      QueuePairSession session = session(pair, 2);
      session.write(0, far.start(), far.rkey());
      session.signaled(0, true);
      session.local(0, 1, near, 8, 16);
      post(session, 0, 1);
      completed(session, 1, CompletionOpcode.RDMA_WRITE);
      assertEquals(16, far.memory().get(ValueLayout.JAVA_LONG, 8));
      assertEquals(0, far.memory().get(ValueLayout.JAVA_LONG, 16));

      session.remote(0, far.start() + 1024, far.rkey());
      session.local(0, Long.MIN_VALUE, near, PAGE - 8, 8);
      post(session, 0, 1);
      completed(session, Long.MIN_VALUE, CompletionOpcode.RDMA_WRITE);
      assertEquals(PAGE - 8, far.memory().get(ValueLayout.JAVA_LONG, 1024));

      session.read(1, far.start() + 1024, far.rkey());
      session.signaled(1, true);
      session.local(1, 2, near, 0, 8);
      post(session, 1, 1);
      completed(session, 2, CompletionOpcode.RDMA_READ);
      assertEquals(8, session.byteLength());
      assertEquals(PAGE - 8, near.memory().get(ValueLayout.JAVA_LONG, 0));

      pair.b.receive(7);
      session.sendWithImmediate(0, 0x01020304);
      session.immediate(0, 0x04030201);
      session.solicited(0, true);
      session.fenced(0, true);
      session.local(0, 3, near, 8, 24);
      post(session, 0, 1); // Unsignaled.
      Completions received = pair.b.completion(CompletionStatus.SUCCESS);
      assertEquals(0x04030201, received.immediate(0));
      assertEquals(24, received.byteLength(0));
      assertEquals(8, far.memory().get(ValueLayout.JAVA_LONG, 0));

      pair.b.receive(8);
      session.writeWithImmediate(1, 9, far.start() + 512, far.rkey());
      session.signaled(1, true);
      session.local(1, 4, near, 16, 8);
      post(session, 1, 1);
      completed(session, 4, CompletionOpcode.RDMA_WRITE);
      assertEquals(9, pair.b.completion(CompletionStatus.SUCCESS).immediate(0));
      assertEquals(16, far.memory().get(ValueLayout.JAVA_LONG, 512));
      assertFalse(session.next());
    }
  }

  @DeviceTest
  void requestWithoutDataAndAgainWithData() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      QueuePairSession session = session(pair, 1);
      session.send(0);
      session.signaled(0, true);
      for (int length : new int[] {-1, 0, 8, 0, 16}) {
        pair.b.receive(length);
        if (length >= 0) {
          session.local(0, length, pair.a.memory, 0, length);
        }
        post(session, 0, 1);
        completed(session, Math.max(length, 0), CompletionOpcode.SEND);
        Completions received = pair.b.completion(CompletionStatus.SUCCESS);
        assertEquals(Math.max(length, 0), received.byteLength(0));
      }
    }
  }

  /** More requests than the queues have entries, and than an index of 16 bits counts. */
  @DeviceTest
  void queuesWrapAround() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      int batch = 16;
      QueuePairSession session = session(pair, batch);
      for (int i = 0; i < batch; i++) {
        session.write(i, pair.b.memory.start() + 8L * i, pair.b.memory.rkey());
        session.signaled(i, i % 4 == 3);
      }
      int rounds = pair.a.queuePair.isDirect() ? 5000 : 10;
      long id = 0;
      long completed = 3;
      for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < batch; i++) {
          session.local(i, id++, pair.a.memory, 8L * i, 8);
        }
        post(session, 0, batch);
        for (int i = 0; i < batch / 4; i++, completed += 4) {
          completed(session, completed, CompletionOpcode.RDMA_WRITE);
        }
      }
      assertEquals(id + 3, completed);
    }
  }

  @DeviceTest
  void fullQueueTakesTheRestLater() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      QueuePairSession session = session(pair, 64);
      for (int i = 0; i < 64; i++) {
        session.write(i, pair.b.memory.start(), pair.b.memory.rkey());
        session.signaled(i, true);
        session.local(i, i, pair.a.memory, 0, 8);
      }
      int posted = session.post(0, 64);
      assertTrue(posted > 0, () -> "posted " + posted); // Soft-RoCE may complete some meanwhile.
      int[] all = {posted};
      for (int i = 0; i < 64; i++) {
        completed(session, i, CompletionOpcode.RDMA_WRITE);
        all[0] += session.post(all[0], 64 - all[0]);
      }
      assertEquals(64, all[0]);
    }
  }

  /** Failures, receives and lists on the same queues. */
  @DeviceTest
  void otherCompletionsAreReturned() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      QueuePairSession session = session(pair, 1);
      pair.a.receive(11);
      SendList list = new SendList(1, 1);
      list.sendWithImmediate(0, 5).local(pair.b.memory, 0, 24).signaled();
      pair.b.run(list);
      next(session);
      assertTrue(session.isReceive());
      assertEquals(11, session.id());
      assertEquals(24, session.byteLength());
      assertEquals(5, session.immediate());
      assertEquals(CompletionOpcode.RECV, session.opcode());

      list.fetchAndAdd(0, 1)
          .id(12)
          .local(pair.a.memory, 0, 8)
          .remote(pair.b.memory.start(), pair.b.memory.rkey())
          .signaled();
      assertEquals(1, pair.a.queuePair.post(list));
      next(session);
      assertEquals(CompletionOpcode.ATOMIC_FETCH_AND_ADD, session.opcode());
      assertEquals(12, session.id());

      session.write(0, pair.b.memory.start(), ~pair.b.memory.rkey());
      session.local(0, 13, pair.a.memory, 0, 8);
      post(session, 0, 1);
      next(session);
      assertFalse(session.isSuccess());
      assertEquals(CompletionStatus.REM_ACCESS_ERR, session.status());
      assertEquals(13, session.id());
      assertTrue(session.describe().contains("request 13"), session::describe);
      session.remote(0, pair.b.memory.start(), pair.b.memory.rkey());
      session.local(0, 14, pair.a.memory, 0, 8);
      post(session, 0, 1);
      next(session);
      assertEquals(CompletionStatus.WR_FLUSH_ERR, session.status());
      assertEquals(14, session.id());
    }
  }

  @DeviceTest
  void mistakesAreRefused() throws Exception {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      MemoryRegion near = pair.a.memory;
      CompletionQueue queue = pair.a.completionQueue;
      QueuePairSession session = session(pair, 2);
      refused(IllegalStateException.class, session::id);
      assertFalse(session.next());
      refused(IllegalStateException.class, session::isSuccess);
      String message = refused(IllegalStateException.class, () -> post(session, 0, 1));
      assertTrue(message.contains("send request 0") && message.contains("not formatted"), message);
      refused(IllegalStateException.class, () -> session.local(0, 0, near, 0, 8));
      refused(IllegalStateException.class, () -> session.signaled(1, true));
      session.write(0, 1, 2);
      refused(IndexOutOfBoundsException.class, () -> session.write(2, 1, 2));
      refused(IndexOutOfBoundsException.class, () -> post(session, 0, 3));
      refused(IndexOutOfBoundsException.class, () -> post(session, -1, 1));
      refused(IndexOutOfBoundsException.class, () -> session.local(-1, 0, near, 0, 8));
      refused(IndexOutOfBoundsException.class, () -> session.local(0, 0, near, PAGE - 7, 8));
      refused(IndexOutOfBoundsException.class, () -> session.local(0, 0, near, -1, 8));
      refused(IndexOutOfBoundsException.class, () -> session.local(0, 0, near, 0, -1));
      refused(IllegalArgumentException.class, () -> session.local(0, 0, near, 0, 1L << 32));
      refused(IllegalArgumentException.class, () -> session.immediate(0, 1));
      message = refused(IllegalStateException.class, () -> post(session, 0, 2));
      assertTrue(message.contains("send request 1"), message);
      refused(
          IllegalArgumentException.class, () -> QueuePairSession.on(pair.a.queuePair, queue, 0));
      CompletionQueue other = pair.a.context.createCompletionQueue(1);
      refused(
          IllegalArgumentException.class, () -> QueuePairSession.on(pair.a.queuePair, other, 1));
      session.read(1, 1, 2);
      MemoryRegion readable = pair.a.page().register();
      message = refused(IllegalArgumentException.class, () -> session.local(1, 0, readable, 0, 8));
      assertTrue(message.contains("LOCAL_WRITE"), message);
      MemoryRegion foreign =
          pair.a.context.allocateProtectionDomain().memory(near.memory()).register();
      message = refused(IllegalArgumentException.class, () -> session.local(0, 0, foreign, 0, 8));
      assertTrue(message.contains("another protection domain"), message);
      session.send(1);
      refused(IllegalArgumentException.class, () -> session.remote(1, 1, 2));
      FutureTask<Boolean> elsewhere = new FutureTask<>(session::next);
      Thread.ofPlatform().name("other").start(elsewhere);
      message = assertThrows(ExecutionException.class, elsewhere::get).getCause().getMessage();
      assertTrue(message.contains("other"), message);
    }
  }

  @DeviceTest
  void whatIsClosedIsNotUsed() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      QueuePairSession session = session(pair, 2);
      MemoryRegion closed = pair.a.page(AccessFlag.LOCAL_WRITE).register();
      for (int i = 0; i < 2; i++) {
        session.write(i, pair.b.memory.start(), pair.b.memory.rkey());
        session.signaled(i, true);
        session.local(i, i, i == 0 ? closed : pair.a.memory, 0, 8);
      }
      closed.close();
      String message = refused(IllegalStateException.class, () -> post(session, 0, 2));
      assertTrue(message.contains("send request 0") && message.contains("is closed"), message);
      post(session, 1, 1);
      completed(session, 1, CompletionOpcode.RDMA_WRITE);
      refused(IllegalStateException.class, () -> session.local(1, 0, closed, 0, 8));
      session.local(0, 5, pair.a.memory, 0, 8);
      post(session, 0, 1);
      completed(session, 5, CompletionOpcode.RDMA_WRITE);
      pair.a.queuePair.reset();
      message = refused(IllegalStateException.class, () -> post(session, 0, 1));
      assertTrue(message.contains("RTS"), message);
      pair.a.queuePair.close();
      refused(IllegalStateException.class, () -> post(session, 0, 1));
      refused(IllegalStateException.class, session::next);
      pair.a.completionQueue.close();
      refused(IllegalStateException.class, session::next);
    }
  }

  @DeviceTest
  void typesThatHaveNoneAreRefused() {
    try (Pair pair = Pair.connected(QueuePairType.UC)) {
      QueuePairSession session = session(pair, 1);
      String message = refused(IllegalArgumentException.class, () -> session.read(0, 1, 2));
      assertTrue(message.contains("UC"), message);
      session.write(0, pair.b.memory.start(), pair.b.memory.rkey());
      session.signaled(0, true);
      session.local(0, 6, pair.a.memory, 0, 8);
      post(session, 0, 1);
      completed(session, 6, CompletionOpcode.RDMA_WRITE);
    }
    try (Pair pair = Pair.inUse(QueuePairType.UD, builder -> builder)) {
      String message = refused(IllegalArgumentException.class, () -> session(pair, 1));
      assertTrue(message.contains("UD"), message);
    }
  }
}
