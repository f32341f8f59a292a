package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.ValueLayout;

/** Regions without memory and regions that begin at address 0, with a sender and a receiver. */
@On(
    value = {SOFTWARE, MLX5},
    reason = "Soft-RoCE has neither null regions nor zero-based ones")
class RegionKindsTest {
  private static final String HEADER = "0123456789abcde";
  private static final String BODY = "body";

  @DeviceTest
  void aNullRegionDiscardsAndReadsAsZeros() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      MemoryRegion none = Rig.orSkip(pair.b.domain::allocateNullRegion);
      pair.a.memory.memory().setString(0, HEADER);
      pair.a.memory.memory().setString(16, BODY);
      ReceiveList receive = new ReceiveList(1, 2);
      receive.local(0, 0, none, 0, 16);
      receive.local(0, 1, pair.b.memory, 0, 64);
      assertEquals(1, pair.b.queuePair.post(receive));
      SendList list = new SendList(1, 1);
      list.send(0).local(pair.a.memory, 0, 64).signaled();
      pair.a.run(list);
      assertEquals(64, pair.b.completion(CompletionStatus.SUCCESS).byteLength(0));
      assertEquals(BODY, pair.b.memory.memory().getString(0), "without what went before it");

      pair.a.memory.memory().fill((byte) -1);
      pair.a.receive(0);
      list.send(0).local(none, 0, 32).signaled();
      pair.b.run(list);
      pair.a.completion(CompletionStatus.SUCCESS);
      for (int i = 0; i < 32; i++) {
        assertEquals(0, pair.a.memory.memory().get(ValueLayout.JAVA_BYTE, i));
      }
    }
  }

  @DeviceTest
  void aNullRegionIsForLocalUseAndDoesNotChange() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      MemoryRegion none = Rig.orSkip(pair.b.domain::allocateNullRegion);
      VerbsException fixed =
          assertThrows(
              VerbsException.class, () -> none.reregister().access(AccessFlag.LOCAL_WRITE).apply());
      assertEquals(Errno.EINVAL, fixed.errno());
      SendList list = new SendList(1, 1);
      list.write(0).local(pair.a.memory, 0, 8).remote(8, none.rkey()).signaled();
      pair.a.run(list, CompletionStatus.REM_ACCESS_ERR);
    }
  }

  @DeviceTest
  @On(value = SOFTWARE, reason = "the emulated NIC does not look at the flag")
  void peersCountFromTheStartOfAZeroBasedRegion() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      MemoryRegistration page =
          pair.b.page(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.ZERO_BASED);
      MemoryRegion region = Rig.orSkip(page::register);
      assertEquals(0, region.start());
      pair.a.memory.memory().setString(0, BODY);
      SendList list = new SendList(1, 1);
      list.write(0).local(pair.a.memory, 0, 8).remote(24, region.rkey()).signaled();
      pair.a.run(list);
      Await.until("the data of the write", () -> region.memory().getString(24).equals(BODY));
    }
  }
}
