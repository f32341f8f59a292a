package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Set;

/** What the peer may do with a region before and after {@code ibv_rereg_mr}. */
@On(
    value = {SOFTWARE, MLX5},
    reason = "Soft-RoCE does not change regions")
class ReregistrationTest {
  private static final AccessFlag[] WRITABLE = {AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE};

  /** Changes a region, where the device can. */
  private static void change(Runnable change) {
    Rig.orSkip(
        () -> {
          change.run();
          return change;
        });
  }

  /** Writes a number to the first bytes of a region of b. */
  private static void write(
      Pair pair, MemoryRegion region, long number, CompletionStatus expected) {
    pair.a.memory.memory().set(ValueLayout.JAVA_LONG, 0, number);
    SendList list = new SendList(1, 1);
    list.write(0).local(pair.a.memory, 0, 8).remote(region.start(), region.rkey()).signaled();
    pair.a.run(list, expected);
  }

  @DeviceTest
  void theNewMemoryIsWritten() {
    try (Arena arena = Arena.ofShared();
        Pair pair = Pair.connected(QueuePairType.RC)) {
      MemorySegment first = arena.allocate(4096, 4096);
      MemorySegment second = arena.allocate(8192, 4096);
      MemoryRegion region = pair.b.domain.registerMemory(first, WRITABLE);
      write(pair, region, 11, CompletionStatus.SUCCESS);
      change(() -> region.reregister().memory(second).apply());
      write(pair, region, 22, CompletionStatus.SUCCESS);
      Await.until("the data of the write", () -> first.get(ValueLayout.JAVA_LONG, 0) == 11);
      Await.until("the data of the write", () -> second.get(ValueLayout.JAVA_LONG, 0) == 22);
    }
  }

  /** Memory that the region frees when it is closed stays until then. */
  @DeviceTest
  void aPartOfItsOwnMemoryIsWritten() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      MemoryRegion region = pair.b.domain.allocateMemory(8192, WRITABLE);
      MemorySegment all = region.memory();
      change(() -> region.reregister().memory(all.asSlice(4096, 4096)).apply());
      write(pair, region, 77, CompletionStatus.SUCCESS);
      Await.until("the data of the write", () -> all.get(ValueLayout.JAVA_LONG, 4096) == 77);
      change(() -> region.reregister().memory(all).apply());
      write(pair, region, 88, CompletionStatus.SUCCESS);
      Await.until("the data of the write", () -> all.get(ValueLayout.JAVA_LONG, 0) == 88);
      region.close();
      assertFalse(all.scope().isAlive());
    }
  }

  /** Each provider passes the address of the new memory to the kernel as that of the region. */
  @DeviceTest
  void newMemoryOfAZeroBasedRegionHasItsAddress() {
    try (Arena arena = Arena.ofShared();
        Pair pair = Pair.connected(QueuePairType.RC)) {
      MemoryRegistration page =
          pair.b.page(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.ZERO_BASED);
      MemoryRegion region = Rig.orSkip(page::register);
      MemorySegment memory = arena.allocate(4096, 4096);
      change(() -> region.reregister().memory(memory).apply());
      assertEquals(memory.address(), region.start());
      write(pair, region, 99, CompletionStatus.SUCCESS);
      Await.until("the data of the write", () -> memory.get(ValueLayout.JAVA_LONG, 0) == 99);
    }
  }

  @DeviceTest
  void accessIsTakenAndGiven() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      MemoryRegion region = pair.b.page(AccessFlag.LOCAL_WRITE).register();
      change(() -> region.reregister().access(Set.of(WRITABLE)).apply());
      write(pair, region, 33, CompletionStatus.SUCCESS);
      Await.until(
          "the data of the write", () -> region.memory().get(ValueLayout.JAVA_LONG, 0) == 33);
      region.reregister().access(AccessFlag.LOCAL_WRITE).apply();
      write(pair, region, 44, CompletionStatus.REM_ACCESS_ERR);
      assertEquals(33, region.memory().get(ValueLayout.JAVA_LONG, 0));
    }
  }

  @DeviceTest
  void memoryDomainAndAccessChangeTogether() {
    try (Arena arena = Arena.ofShared();
        Pair pair = Pair.connected(QueuePairType.RC)) {
      MemorySegment memory = arena.allocate(8192, 4096);
      ProtectionDomain other = pair.b.context.allocateProtectionDomain();
      MemoryRegion region = other.registerMemory(arena.allocate(4096, 4096));
      change(
          () ->
              region
                  .reregister()
                  .memory(memory)
                  .domain(pair.b.domain)
                  .access(Set.of(WRITABLE))
                  .apply());
      write(pair, region, 66, CompletionStatus.SUCCESS);
      Await.until("the data of the write", () -> memory.get(ValueLayout.JAVA_LONG, 0) == 66);
      other.close();
      assertTrue(region.isOpen());
    }
  }

  @DeviceTest
  void queuePairsOfTheOldDomainLoseAccess() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      MemoryRegion region = pair.b.page(WRITABLE).register();
      ProtectionDomain other = pair.b.context.allocateProtectionDomain();
      change(() -> region.reregister().domain(other).apply());
      write(pair, region, 55, CompletionStatus.REM_ACCESS_ERR);
      assertEquals(0, region.memory().get(ValueLayout.JAVA_LONG, 0));
    }
  }

  private static SendList message(Pair pair) {
    SendList list = new SendList(1, 1);
    list.send(0).local(pair.a.memory, 0, 64).signaled();
    return list;
  }

  /** Sends a message that the receive request cannot take, and connects both ends again. */
  private static void messageFails(Pair pair) {
    pair.a.run(message(pair), CompletionStatus.REM_OP_ERR);
    pair.b.completion(CompletionStatus.LOC_PROT_ERR);
    connectAgain(pair);
  }

  private static void connectAgain(Pair pair) {
    pair.a.queuePair.reset();
    pair.b.queuePair.reset();
    pair.connect();
  }

  private static void messageArrives(Pair pair, MemoryRegion region, String text) {
    pair.a.memory.memory().setString(0, text);
    pair.b.receive(1, region);
    pair.a.run(message(pair));
    assertEquals(64, pair.b.completion(CompletionStatus.SUCCESS).byteLength(0));
    assertEquals(text, region.memory().getString(0));
  }

  private static void receiveOfTheOldMemoryFails(Pair pair, Arena arena, MemoryRegion region) {
    MemorySegment old = region.memory();
    pair.b.receive(1, region);
    change(() -> region.reregister().memory(arena.allocate(4096, 4096)).apply());
    messageFails(pair);
    messageArrives(pair, region, "to the new memory");
    assertEquals(0, old.get(ValueLayout.JAVA_LONG, 0));
  }

  @DeviceTest
  void aReceiveOfTheOldMemoryFails() {
    try (Arena arena = Arena.ofShared();
        Pair pair = Pair.connected(QueuePairType.RC)) {
      receiveOfTheOldMemoryFails(pair, arena, pair.b.page(AccessFlag.LOCAL_WRITE).register());
    }
  }

  @DeviceTest
  void aReceiveOfAnotherDomainFails() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      MemoryRegion region = pair.b.page(AccessFlag.LOCAL_WRITE).register();
      messageArrives(pair, region, "before");
      ProtectionDomain other = pair.b.context.allocateProtectionDomain();
      change(() -> region.reregister().domain(other).apply());
      ReceiveList receive = new ReceiveList(1, 1);
      receive.localUnchecked(0, 0, region.start(), 64, region.lkey());
      assertEquals(1, pair.b.queuePair.post(receive));
      messageFails(pair);
      assertEquals("before", region.memory().getString(0));
      region.reregister().domain(pair.b.domain).apply();
      messageArrives(pair, region, "after");
    }
  }

  /** Adds 5 to the first bytes of a region of b. */
  private static void add(Pair pair, MemoryRegion region, CompletionStatus expected) {
    SendList list = new SendList(1, 1);
    list.fetchAndAdd(0, 5).local(pair.a.memory, 0, 8).remote(region.start(), region.rkey());
    list.signaled(0);
    pair.a.run(list, expected);
  }

  @DeviceTest
  void atomicAccessIsTakenAndGiven() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      MemoryRegion region =
          pair.b.page(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_ATOMIC).register();
      add(pair, region, CompletionStatus.SUCCESS);
      change(() -> region.reregister().access(AccessFlag.LOCAL_WRITE).apply());
      add(pair, region, CompletionStatus.REM_ACCESS_ERR);
      assertEquals(5, region.memory().get(ValueLayout.JAVA_LONG, 0));
      connectAgain(pair);
      region.reregister().access(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_ATOMIC).apply();
      add(pair, region, CompletionStatus.SUCCESS);
      assertEquals(10, region.memory().get(ValueLayout.JAVA_LONG, 0));
    }
  }

  @DeviceTest
  void regionsMadeByTheExtendedFunctionChange() {
    try (Arena arena = Arena.ofShared();
        Pair pair = Pair.connected(QueuePairType.RC)) {
      MemoryRegistration page = pair.b.page(AccessFlag.LOCAL_WRITE).extended();
      MemoryRegion region = Rig.orSkip(page::register);
      receiveOfTheOldMemoryFails(pair, arena, region);
      region.reregister().access(Set.of(WRITABLE)).apply();
      write(pair, region, 12, CompletionStatus.SUCCESS);
      Await.until(
          "the data of the write", () -> region.memory().get(ValueLayout.JAVA_LONG, 0) == 12);
    }
  }
}
