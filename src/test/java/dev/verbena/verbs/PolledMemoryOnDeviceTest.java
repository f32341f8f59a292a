package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.ValueLayout;

/** Memory that a program polls while a device writes to it. */
class PolledMemoryOnDeviceTest {
  /** The receiver has no completion, and calls nothing while it waits. */
  @DeviceTest
  void dataOfAWriteIsThereWhenTheFlagOfALaterWriteIs() throws InterruptedException {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      PolledMemory from = new PolledMemory(pair.a.memory);
      PolledMemory to = new PolledMemory(pair.b.memory);
      MemoryRegion target = pair.b.memory;
      SendList list = new SendList(2, 1);
      list.write(0).local(pair.a.memory, 0, 1000).remote(target.start(), target.rkey());
      list.write(1).local(pair.a.memory, 1024, 8).remote(target.start() + 1024, target.rkey());
      list.signaled(1);
      for (long i = 1; i <= 100; i++) {
        pair.a.memory.memory().asSlice(0, 1000).fill((byte) i);
        from.putLongRelease(1024, i);
        assertEquals(2, pair.a.queuePair.post(list));
        assertTrue(to.awaitLong(1024, i, Await.LIMIT));
        for (int at = 0; at < 1000; at++) {
          assertEquals((byte) i, target.memory().get(ValueLayout.JAVA_BYTE, at));
        }
        pair.a.completion(CompletionStatus.SUCCESS);
      }
    }
  }
}
