package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.verbs.CompletionCounter;
import dev.verbena.verbs.CompletionCounter.Operation;
import dev.verbena.verbs.CompletionStatus;
import dev.verbena.verbs.EnhancedConnectionEstablishment;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.RateLimit;
import dev.verbena.verbs.SendList;
import org.junit.jupiter.api.Test;

/** Completion counters at both ends of a connection; options and limits of queue pairs. */
class CompletionCounterTest {
  @Test
  void bothEndsCount() {
    try (SoftPair pair = SoftPair.unconnected()) {
      CompletionCounter writes = pair.a.context.createCompletionCounter(CompletionCounter.Type.WRS);
      CompletionCounter bytes =
          pair.a.context.createCompletionCounter(CompletionCounter.Type.BYTES);
      CompletionCounter remote =
          pair.b.context.createCompletionCounter(CompletionCounter.Type.BYTES);
      CompletionCounter received =
          pair.b.context.createCompletionCounter(CompletionCounter.Type.WRS);
      writes.attach(pair.a.queuePair, Operation.RDMA_WRITE);
      bytes.attach(pair.a.queuePair, Operation.SEND, Operation.RDMA_READ);
      remote.attach(pair.b.queuePair, Operation.REMOTE_RDMA_WRITE, Operation.REMOTE_RDMA_READ);
      received.attach(pair.b.queuePair, Operation.RECV);
      VerbsException busy =
          assertThrows(
              VerbsException.class, () -> bytes.attach(pair.a.queuePair, Operation.RDMA_WRITE));
      assertEquals(Errno.EBUSY, busy.errno());
      pair.connect();
      pair.transfer(2, 100);
      SendList list = new SendList(4, 1);
      long there = pair.b.region.start();
      int key = pair.b.region.rkey();
      list.write(0).local(pair.a.region, 0, 5000).remote(there, key);
      list.write(1).local(pair.a.region, 0, 1).remote(there, key);
      list.read(2).local(pair.a.region, 0, 7).remote(there, key);
      list.write(3).local(pair.a.region, 0, 1).remote(there, key + 1).signaled();
      assertEquals(4, pair.a.queuePair.post(list));
      assertEquals(CompletionStatus.REM_ACCESS_ERR, pair.completion());
      assertEquals(2, writes.value(), "signaled or not");
      assertEquals(1, writes.errors());
      assertEquals(207, bytes.value());
      assertEquals(5008, remote.value());
      assertEquals(2, received.value());
      writes.value(40);
      writes.add(2);
      assertEquals(42, writes.value());
    }
  }

  @Test
  void optionsAndLimitsAreKept() {
    try (SoftPair pair = SoftPair.connected()) {
      QueuePair queuePair = pair.a.queuePair;
      EnhancedConnectionEstablishment offered = queuePair.enhancedConnection();
      pair.b.queuePair.enhancedConnection(
          new EnhancedConnectionEstablishment(offered.vendor(), 0x11));
      assertEquals(1, pair.b.queuePair.enhancedConnection().options(), "what both ends know");
      EnhancedConnectionEstablishment foreign = new EnhancedConnectionEstablishment(0x15b3, 1);
      assertThrows(VerbsException.class, () -> queuePair.enhancedConnection(foreign));
      queuePair.limitRate(RateLimit.ofKilobitsPerSecond(1_000_000));
      RateLimit tooFast = RateLimit.ofKilobitsPerSecond(4_000_000_000L);
      assertThrows(VerbsException.class, () -> queuePair.limitRate(tooFast));
    }
  }
}
