package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.SOFT_ROCE;
import static dev.verbena.testing.Need.C_QUEUES;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_cq;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.CompletionField;
import dev.verbena.values.CompletionStatus;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;

/** Completion queues, as rdma-core's test_cq.py tests them. */
class CqTest {
  @DeviceTest
  void hasAtLeastTheRequestedCapacity() {
    try (Context context = Rig.a().open()) {
      for (int entries : new int[] {1, 7, 100}) {
        assertTrue(context.createCompletionQueue(entries).capacity() >= entries);
      }
    }
  }

  @DeviceTest
  void closesTwiceAndThenThrows() {
    try (Context context = Rig.a().open()) {
      CompletionQueue cq = context.createCompletionQueue(1);
      cq.close();
      cq.close();
      var thrown = assertThrows(IllegalStateException.class, cq::capacity);
      assertTrue(thrown.getMessage().contains("completion queue"), thrown.getMessage());
      assertThrows(IllegalStateException.class, () -> cq.resize(2));
      assertThrows(IllegalStateException.class, cq::requestNotification);
      assertThrows(IllegalStateException.class, () -> cq.moderate(1, Duration.ZERO));
    }
  }

  @DeviceTest
  void closesWithItsContextAndChannel() {
    Context context = Rig.a().open();
    CompletionChannel channel = context.createCompletionChannel();
    CompletionQueue byChannel = context.completionQueue(1).channel(channel).create();
    CompletionQueue byContext = context.createCompletionQueue(1);
    channel.close();
    assertFalse(byChannel.isOpen());
    assertTrue(byContext.isOpen());
    context.close();
    assertFalse(byContext.isOpen());
    assertThrows(IllegalStateException.class, () -> context.createCompletionQueue(1));
    assertThrows(IllegalStateException.class, context::createCompletionChannel);
  }

  @DeviceTest
  void invalidArgumentsThrow() {
    try (Context context = Rig.a().open();
        Context other = Rig.a().open()) {
      assertThrows(IllegalArgumentException.class, () -> context.createCompletionQueue(0));
      assertThrows(IllegalArgumentException.class, () -> context.createCompletionQueue(-1));
      CompletionQueue.Builder builder = context.completionQueue(1);
      assertThrows(IndexOutOfBoundsException.class, () -> builder.vector(-1));
      int vectors = context.completionVectors();
      assertThrows(IndexOutOfBoundsException.class, () -> builder.vector(vectors));
      CompletionChannel channel = other.createCompletionChannel();
      assertThrows(IllegalArgumentException.class, () -> builder.channel(channel));
      ProtectionDomain domain = other.allocateProtectionDomain();
      assertThrows(IllegalArgumentException.class, () -> builder.parentDomain(domain));
    }
  }

  @DeviceTest
  void tooManyEntriesAreExplained() {
    try (Context context = Rig.a().open()) {
      int tooMany = Integer.MAX_VALUE;
      var thrown = assertThrows(VerbsException.class, () -> context.createCompletionQueue(tooMany));
      assertEquals(Errno.EINVAL, thrown.errno());
      assertTrue(thrown.getMessage().contains("max_cqe"), thrown.getMessage());
    }
  }

  @DeviceTest
  void takesEveryVector() {
    try (Context context = Rig.a().open()) {
      for (int vector = 0; vector < context.completionVectors(); vector++) {
        assertTrue(context.completionQueue(1).vector(vector).create().isOpen());
      }
    }
  }

  @DeviceTest
  @Needs(C_QUEUES)
  void isResizedWhileItHoldsCompletions() {
    try (Loop loop = new Loop()) {
      post(loop, 10);
      loop.qp.fail();
      loop.cq.resize(1000);
      assertTrue(loop.cq.capacity() >= 1000);
      loop.complete(10, CompletionStatus.WR_FLUSH_ERR);
      assertThrows(IllegalArgumentException.class, () -> loop.cq.resize(0));
    }
  }

  @DeviceTest
  @Needs(C_QUEUES)
  void isNotResizedBelowWhatItHolds() {
    try (Loop loop = new Loop()) {
      post(loop, 64);
      loop.qp.fail();
      loop.complete(1, CompletionStatus.WR_FLUSH_ERR); // By now all of them are there, or soon.
      var thrown = assertThrows(VerbsException.class, () -> resizeSoon(loop.cq));
      assertEquals(Errno.EINVAL, thrown.errno());
      assertTrue(thrown.getMessage().contains("contains more completions"), thrown.getMessage());
    }
  }

  /** The flushed completions may still be on their way. */
  private static void resizeSoon(CompletionQueue cq) throws InterruptedException {
    for (int i = 0; i < 100; i++) {
      cq.resize(256);
      cq.resize(1);
      Await.pass(Duration.ofMillis(10), "the queue pair flushes its requests");
    }
  }

  private static void post(Loop loop, int receives) {
    ReceiveList list = new ReceiveList(receives, 1);
    for (int i = 0; i < receives; i++) {
      list.local(i, loop.region, 0, 1);
    }
    assertEquals(receives, loop.qp.post(list));
  }

  @DeviceTest
  void softRoceHasNoModeration() {
    try (Context context = Rig.a().open()) {
      CompletionQueue cq = context.createCompletionQueue(1);
      assertThrows(
          IllegalArgumentException.class, () -> cq.moderate(0x10000, Duration.ofNanos(1000)));
      assertThrows(IllegalArgumentException.class, () -> cq.moderate(-1, Duration.ZERO));
      assertThrows(IllegalArgumentException.class, () -> cq.moderate(1, Duration.ofNanos(1)));
      assertThrows(IllegalArgumentException.class, () -> cq.moderate(1, Duration.ofSeconds(1)));
      assertThrows(IllegalArgumentException.class, () -> cq.moderate(1, Duration.ofNanos(-1000)));
      if (Rig.labGuest().isPresent()) {
        var thrown =
            assertThrows(VerbsException.class, () -> cq.moderate(8, Duration.ofNanos(16_000)));
        assertTrue(thrown.isUnsupported(), thrown.getMessage());
      }
    }
  }

  @DeviceTest
  void aQueueInUseStaysOpen() {
    try (Loop loop = new Loop()) {
      CompletionQueue borrowed =
          CompletionQueue.borrow(
              loop.context, Memory.at(loop.cq.segment().address(), ibv_cq.sizeof()));
      assertEquals(loop.cq.capacity(), borrowed.capacity());
      borrowed.close();
      assertTrue(loop.cq.isOpen());
      loop.send(1, false);
      loop.complete(1);
    }
  }

  @DeviceTest
  void extendedQueueHasTheRequestedFields() {
    try (Context context = Rig.a().open()) {
      CompletionField[] fields = {
        CompletionField.BYTE_LEN,
        CompletionField.IMM,
        CompletionField.QP_NUM,
        CompletionField.SRC_QP,
        CompletionField.SLID,
        CompletionField.SL,
        CompletionField.DLID_PATH_BITS
      };
      CompletionChannel channel = context.createCompletionChannel();
      ExtendedCompletionQueue cq =
          Rig.orSkip(() -> context.completionQueue(10).channel(channel).createExtended(fields));
      assertEquals(Set.of(fields), cq.fields());
      assertEquals(Optional.of(channel), cq.channel());
      assertTrue(cq.capacity() >= 10);
      try (CompletionCursor cursor = cq.startPolling()) {
        assertFalse(cursor.next(), "nothing was posted");
      }
    }
  }

  @DeviceTest
  @On(SOFT_ROCE)
  void softRoceHasNoTimestamps() {
    try (Context context = Rig.a().open()) {
      for (CompletionField field :
          Set.of(
              CompletionField.COMPLETION_TIMESTAMP,
              CompletionField.COMPLETION_TIMESTAMP_WALLCLOCK)) {
        var thrown =
            assertThrows(
                VerbsException.class, () -> context.completionQueue(1).createExtended(field));
        assertTrue(thrown.isUnsupported(), thrown.getMessage());
      }
    }
  }
}
