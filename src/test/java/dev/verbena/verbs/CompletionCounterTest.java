package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionCounter.Operation;

/** Completion counters at both ends of a connection. */
@On(
    value = SOFTWARE,
    reason = "Soft-RoCE and mlx5 have no completion counters; SrdCountersTest has those of EFA")
class CompletionCounterTest {
  @DeviceTest
  void bothEndsCount() {
    try (Pair pair = new Pair(QueuePairType.RC)) {
      CompletionCounter writes =
          Rig.orSkip(() -> CompletionCounter.create(pair.a.context, CompletionCounter.Type.WRS));
      CompletionCounter bytes =
          CompletionCounter.create(pair.a.context, CompletionCounter.Type.BYTES);
      CompletionCounter remote =
          CompletionCounter.create(pair.b.context, CompletionCounter.Type.BYTES);
      CompletionCounter received =
          CompletionCounter.create(pair.b.context, CompletionCounter.Type.WRS);
      writes.attach(pair.a.queuePair, Operation.RDMA_WRITE);
      bytes.attach(pair.a.queuePair, Operation.SEND, Operation.RDMA_READ);
      remote.attach(pair.b.queuePair, Operation.REMOTE_RDMA_WRITE, Operation.REMOTE_RDMA_READ);
      received.attach(pair.b.queuePair, Operation.RECV);
      VerbsException busy =
          assertThrows(
              VerbsException.class, () -> bytes.attach(pair.a.queuePair, Operation.RDMA_WRITE));
      assertEquals(Errno.EBUSY, busy.errno());
      pair.connect();
      VerbsException late =
          assertThrows(
              VerbsException.class, () -> received.attach(pair.b.queuePair, Operation.SEND));
      assertEquals(Errno.EINVAL, late.errno());
      SendList message = new SendList(1, 1);
      message.send(0).local(pair.a.memory, 0, 100).signaled();
      for (int i = 0; i < 2; i++) {
        pair.b.receive(i);
        pair.a.run(message);
        pair.b.completion(CompletionStatus.SUCCESS);
      }
      SendList list = new SendList(4, 1);
      long there = pair.b.memory.start();
      int key = pair.b.memory.rkey();
      list.write(0).local(pair.a.memory, 0, 4000).remote(there, key);
      list.write(1).local(pair.a.memory, 0, 1).remote(there, key);
      list.read(2).local(pair.a.memory, 0, 7).remote(there, key);
      list.write(3).local(pair.a.memory, 0, 1).remote(there, key + 1).signaled();
      pair.a.run(list, CompletionStatus.REM_ACCESS_ERR);
      assertEquals(2, writes.value(), "signaled or not");
      assertEquals(1, writes.errors());
      assertEquals(207, bytes.value());
      assertEquals(4008, remote.value());
      assertEquals(2, received.value());
      writes.value(40);
      writes.add(2);
      assertEquals(42, writes.value());
    }
  }
}
