package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.SOFT_ROCE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.CompletionField;
import dev.verbena.values.CompletionFlag;
import dev.verbena.values.CompletionOpcode;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairType;
import java.util.EnumSet;
import java.util.Set;

/** Extended completion queues, as rdma-core's test_cqex.py tests them. */
class CqExTest {
  /** What C calls the standard flags, and every provider should tell. */
  private static final Set<CompletionField> STANDARD =
      EnumSet.range(CompletionField.BYTE_LEN, CompletionField.DLID_PATH_BITS);

  private static ExtendedCompletionQueue standard(Context context) {
    return context.completionQueue(64).createExtended(STANDARD.toArray(CompletionField[]::new));
  }

  @DeviceTest
  @On(SOFT_ROCE)
  void eachFieldIsSupportedOrThrows() {
    try (Context context = Rig.a().open()) {
      Set<CompletionField> offered = EnumSet.noneOf(CompletionField.class);
      for (CompletionField field : CompletionField.values()) {
        try (ExtendedCompletionQueue cq = context.completionQueue(10).createExtended(field)) {
          assertEquals(Set.of(field), cq.fields());
          offered.add(field);
        } catch (VerbsException e) {
          assertTrue(e.isUnsupported(), e.getMessage());
        }
      }
      assertEquals(STANDARD, offered);
    }
  }

  @DeviceTest
  void eachFlagIsSupportedOrThrows() {
    try (Context context = Rig.a().open()) {
      for (CompletionQueue.Builder builder :
          Set.of(
              context.completionQueue(10).singleThreaded(),
              context.completionQueue(10).ignoreOverrun())) {
        try (ExtendedCompletionQueue cq = builder.createExtended()) {
          assertTrue(cq.capacity() >= 10);
        } catch (VerbsException e) {
          assertTrue(e.isUnsupported(), e.getMessage());
        }
      }
    }
  }

  @DeviceTest
  void tooManyEntriesAndWrongVectorsThrow() {
    try (Context context = Rig.a().open()) {
      int tooMany = context.deviceAttributes().maxCompletionQueueEntries() + 1;
      var builder = context.completionQueue(tooMany);
      var thrown = assertThrows(VerbsException.class, builder::createExtended);
      assertEquals(Errno.EINVAL, thrown.errno(), thrown.getMessage());
      int vectors = context.completionVectors();
      assertThrows(
          IndexOutOfBoundsException.class, () -> context.completionQueue(10).vector(vectors + 1));
    }
  }

  @DeviceTest
  void readsCompletionsOfMessages() {
    try (Pair pair = new Pair()) {
      ExtendedCompletionQueue a = standard(pair.a.context);
      ExtendedCompletionQueue b = standard(pair.b.context);
      pair.a.queuePair = pair.a.builder(QueuePairType.RC).completions(a).create();
      pair.b.queuePair = pair.b.builder(QueuePairType.RC).completions(b).create();
      pair.connect();
      SendList list = new SendList(1, 1);
      for (int i = 0; i < 10; i++) {
        list.sendWithImmediate(0, i).id(100 + i).local(pair.a.memory, 0, 1024).signaled();
        pair.b.receive(i);
        assertEquals(1, pair.a.queuePair.post(list));
        try (CompletionCursor sent = next(a)) {
          assertTrue(sent.isSuccess());
          assertEquals(100 + i, sent.id());
          assertEquals(CompletionOpcode.SEND, sent.opcode());
          assertEquals(pair.a.queuePair.number(), sent.queuePairNumber());
          assertFalse(sent.next(), "one request, one completion");
        }
        try (CompletionCursor received = next(b)) {
          assertEquals(CompletionStatus.SUCCESS, received.status());
          assertEquals(i, received.id());
          assertEquals(CompletionOpcode.RECV, received.opcode());
          assertEquals(1024, received.byteLength());
          assertTrue(received.has(CompletionFlag.WITH_IMM));
          assertEquals(i, received.immediate());
          assertEquals(pair.b.queuePair.number(), received.queuePairNumber());
        }
      }
    }
  }

  @DeviceTest
  void callsThatNeedTheLockThrowDuringPolling() {
    try (Pair pair = new Pair()) {
      ExtendedCompletionQueue a = standard(pair.a.context);
      pair.a.queuePair = pair.a.builder(QueuePairType.RC).completions(a).create();
      pair.b.queuePair = pair.b.builder(QueuePairType.RC).create();
      pair.connect();
      pair.b.receive(1);
      SendList list = new SendList(1, 1);
      list.send(0).local(pair.a.memory, 0, 8).signaled();
      assertEquals(1, pair.a.queuePair.post(list));
      try (CompletionCursor sent = next(a)) {
        assertTrue(sent.isSuccess());
        assertThrows(IllegalStateException.class, () -> a.poll(new Completions(1)));
        assertThrows(IllegalStateException.class, () -> a.resize(128));
        assertThrows(IllegalStateException.class, pair.a.queuePair::close);
      }
      assertEquals(0, a.poll(new Completions(1)));
      a.resize(128);
      pair.a.queuePair.close();
    }
  }

  @DeviceTest
  void readsCompletionsOfDatagrams() {
    int count = 8;
    try (Pair pair = new Pair()) {
      ExtendedCompletionQueue b = standard(pair.b.context);
      pair.a.queuePair = pair.a.builder(QueuePairType.UD).create();
      pair.b.queuePair = pair.b.builder(QueuePairType.UD).completions(b).create();
      pair.setup();
      QueuePairAddress address = pair.b.queuePair.localAddress();
      AddressHandle handle = pair.handleToB();
      SendList list = new SendList(count, 1);
      for (int i = 0; i < count; i++) {
        pair.b.receive(i);
        list.send(i)
            .local(pair.a.memory, 0, 64)
            .to(handle, address.number(), address.queueKey())
            .signaled();
      }
      assertEquals(count, pair.a.queuePair.post(list));
      for (int i = 0; i < count; i++) {
        pair.a.completion(CompletionStatus.SUCCESS);
      }
      int seen = 0;
      while (seen < count) {
        try (CompletionCursor received = next(b)) {
          do {
            assertTrue(received.isSuccess(), () -> received.status().text());
            assertEquals(seen, received.id());
            assertEquals(40 + 64, received.byteLength());
            assertTrue(received.has(CompletionFlag.GRH));
            assertEquals(pair.a.queuePair.number(), received.sourceQueuePair());
            assertEquals(0, received.sourceLid(), "Ethernet has no LIDs");
            assertEquals(0, received.serviceLevel());
            assertEquals(0, received.destinationPathBits());
            seen++;
          } while (received.next());
        }
      }
      assertEquals(count, seen);
    }
  }

  @DeviceTest
  void readsFailedCompletions() {
    try (Pair pair = new Pair()) {
      ExtendedCompletionQueue a = pair.a.context.completionQueue(32).createExtended();
      pair.a.queuePair = pair.a.builder(QueuePairType.RC).completions(a).create();
      pair.b.queuePair = pair.b.builder(QueuePairType.RC).create();
      pair.connect();
      SendList list = new SendList(1, 1);
      list.write(0).id(3).local(pair.a.memory, 0, 8).remote(pair.b.memory.start(), 0).signaled();
      assertEquals(1, pair.a.queuePair.post(list));
      try (CompletionCursor failed = next(a)) {
        assertFalse(failed.isSuccess());
        assertEquals(CompletionStatus.REM_ACCESS_ERR, failed.status());
        assertEquals(3, failed.id());
        assertEquals(Rig.isSoftware() ? 0x55 : 0, failed.vendorError());
        assertTrue(
            assertThrows(VerbsException.class, failed::byteLength).isUnsupported(),
            "not asked for");
      }
    }
  }

  /** A cursor at the next completion, once there is one. */
  static CompletionCursor next(ExtendedCompletionQueue queue) {
    return Await.value(
        () -> "a completion on " + queue,
        () -> {
          CompletionCursor cursor = queue.startPolling();
          if (cursor.next()) {
            return cursor;
          }
          cursor.close();
          return null;
        });
  }
}
