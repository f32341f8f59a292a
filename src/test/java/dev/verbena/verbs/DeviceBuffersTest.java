package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.raw.rdma_h;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.function.Executable;

/** Device memory: copies, its limit, and what queue pairs of both ends do with it. */
@On(
    value = {SOFTWARE, MLX5},
    reason = "Soft-RoCE has no device memory")
class DeviceBuffersTest {
  /** More than a receive request has in the completion, from where libmlx5 would copy it. */
  private static final int SIZE = 1024;

  private static final AccessFlag[] ALL = {
    AccessFlag.LOCAL_WRITE,
    AccessFlag.REMOTE_WRITE,
    AccessFlag.REMOTE_READ,
    AccessFlag.REMOTE_ATOMIC
  };

  private static DeviceMemory allocate(Pair.Side side) {
    return Rig.orSkip(() -> DeviceMemory.allocate(side.context, SIZE, 8));
  }

  /** Bytes that differ from each other and from those of another seed. */
  private static MemorySegment pattern(Arena arena, int seed) {
    MemorySegment bytes = arena.allocate(SIZE, 8);
    for (int i = 0; i < SIZE; i++) {
      bytes.set(ValueLayout.JAVA_BYTE, i, (byte) (i * 7 + seed));
    }
    return bytes;
  }

  private static void assertContains(MemorySegment expected, DeviceMemory memory) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment copy = arena.allocate(expected.byteSize());
      memory.read(0, copy);
      assertEquals(-1, expected.mismatch(copy));
    }
  }

  @DeviceTest
  void whatIsCopiedIsReadAgain() {
    try (Context context = Rig.a().open();
        Arena arena = Arena.ofConfined()) {
      DeviceMemory memory = Rig.orSkip(() -> DeviceMemory.allocate(context, SIZE));
      MemorySegment expected = pattern(arena, 1);
      memory.write(0, expected);
      MemorySegment part = pattern(arena, 2).asSlice(0, 128);
      memory.write(256, part);
      expected.asSlice(256, 128).copyFrom(part);
      assertContains(expected, memory);
      MemorySegment copy = arena.allocate(12);
      memory.read(260, copy);
      assertEquals(-1, expected.asSlice(260, 12).mismatch(copy));
      assertThrows(IndexOutOfBoundsException.class, () -> memory.read(SIZE - 8, copy));
      assertThrows(IndexOutOfBoundsException.class, () -> memory.write(SIZE, copy));
      memory.close();
      memory.close();
      assertThrows(IllegalStateException.class, () -> memory.read(0, copy));
    }
  }

  /** libmlx5 copies words of 4 bytes. */
  @DeviceTest
  @On(value = MLX5, reason = "a software device copies bytes")
  void copiesOfPartsOfWordsAreRefused() {
    try (Context context = Rig.a().open();
        Arena arena = Arena.ofConfined()) {
      DeviceMemory memory = DeviceMemory.allocate(context, SIZE);
      MemorySegment expected = pattern(arena, 3);
      memory.write(0, expected);
      MemorySegment host = arena.allocate(8);
      for (Executable copy :
          List.<Executable>of(
              () -> memory.write(3, host.asSlice(0, 4)),
              () -> memory.write(4, host.asSlice(0, 3)),
              () -> memory.read(3, host.asSlice(0, 4)),
              () -> memory.read(4, host.asSlice(0, 3)))) {
        VerbsException refused = assertThrows(VerbsException.class, copy);
        assertEquals(Errno.EINVAL, refused.errno());
        assertTrue(refused.getMessage().contains("(1024 bytes)"), refused::getMessage);
        assertTrue(refused.getMessage().contains("multiples of 4"), refused::getMessage);
      }
      assertContains(expected, memory);
    }
  }

  @DeviceTest
  void threadsAllocateAtTheSameTime() throws Exception {
    int threads = 5;
    try (Context context = Rig.a().open()) {
      Rig.orSkip(() -> DeviceMemory.allocate(context, 64)).close();
      long all = context.deviceAttributes().maxDeviceMemory();
      long each = all / 2 / threads / 4096 * 4096;
      CyclicBarrier start = new CyclicBarrier(threads);
      List<FutureTask<DeviceMemory>> tasks = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        FutureTask<DeviceMemory> task =
            new FutureTask<>(
                () -> {
                  start.await();
                  return DeviceMemory.allocate(context, each);
                });
        tasks.add(task);
        Thread.ofPlatform().start(task);
      }
      for (int i = 0; i < threads; i++) {
        DeviceMemory memory = tasks.get(i).get();
        try (Arena arena = Arena.ofConfined()) {
          memory.write(0, pattern(arena, i));
        }
      }
      try (Arena arena = Arena.ofConfined()) {
        for (int i = 0; i < threads; i++) {
          assertContains(pattern(arena, i), tasks.get(i).get());
        }
      }
      assertThrows(
          VerbsException.class, () -> DeviceMemory.allocate(context, all - threads * each + 1));
    }
  }

  @DeviceTest
  void rangesAreRegisteredAndWhatIsOutsideIsNot() {
    try (Context context = Rig.a().open()) {
      Rig.orSkip(() -> DeviceMemory.allocate(context, 64)).close();
      ProtectionDomain pd = context.allocateProtectionDomain();
      long all = context.deviceAttributes().maxDeviceMemory();
      for (long length : List.of(64L, all / 4, all / 2)) {
        try (DeviceMemory memory = DeviceMemory.allocate(context, length)) {
          for (long part : List.of(length / 8, length / 2, length)) {
            MemoryRegion region = memory.register(pd, length - part, part, AccessFlag.LOCAL_WRITE);
            assertEquals(0, region.start());
            assertEquals(part, region.length());
          }
          assertThrows(
              IndexOutOfBoundsException.class,
              () -> memory.register(pd, 0, length + 4, AccessFlag.LOCAL_WRITE));
          VerbsException refused =
              assertThrows(
                  VerbsException.class,
                  () ->
                      context
                          .verbs()
                          .ibv_reg_dm_mr(
                              pd.segment().address(),
                              memory.segment().address(),
                              0,
                              length + 4,
                              rdma_h.IBV_ACCESS_ZERO_BASED() | rdma_h.IBV_ACCESS_LOCAL_WRITE()));
          assertEquals(Errno.EINVAL, refused.errno());
        }
      }
    }
  }

  @DeviceTest
  void messagesGoFromDeviceMemoryToDeviceMemory() {
    try (Pair pair = Pair.connected(QueuePairType.RC);
        Arena arena = Arena.ofConfined()) {
      DeviceMemory from = allocate(pair.a);
      DeviceMemory to = allocate(pair.b);
      MemoryRegion source = from.register(pair.a.domain, 0, SIZE);
      MemoryRegion target = to.register(pair.b.domain, 0, SIZE, AccessFlag.LOCAL_WRITE);
      SendList list = new SendList(1, 1);
      list.send(0).local(source, 0, SIZE).signaled();
      for (int i = 0; i < 5; i++) {
        from.write(0, pattern(arena, i));
        pair.b.receive(i, target);
        pair.a.run(list);
        assertEquals(SIZE, pair.b.completion(CompletionStatus.SUCCESS).byteLength(0));
        assertContains(pattern(arena, i), to);
      }
    }
  }

  @DeviceTest
  void peersReadDeviceMemory() {
    try (Pair pair = Pair.connected(QueuePairType.RC);
        Arena arena = Arena.ofConfined()) {
      DeviceMemory to = allocate(pair.a);
      DeviceMemory from = allocate(pair.b);
      MemoryRegion target = to.register(pair.a.domain, 0, SIZE, AccessFlag.LOCAL_WRITE);
      MemoryRegion source = from.register(pair.b.domain, 0, SIZE, AccessFlag.REMOTE_READ);
      from.write(0, pattern(arena, 9));
      SendList list = new SendList(1, 1);
      list.read(0).local(target, 0, SIZE).remote(0, source.rkey()).signaled();
      pair.a.run(list);
      assertContains(pattern(arena, 9), to);
    }
  }

  @DeviceTest
  void peersWriteToDeviceMemoryWithImmediateData() {
    try (Pair pair = Pair.connected(QueuePairType.RC);
        Arena arena = Arena.ofConfined()) {
      DeviceMemory from = allocate(pair.a);
      DeviceMemory to = allocate(pair.b);
      MemoryRegion source = from.register(pair.a.domain, 0, SIZE);
      MemoryRegion target = to.register(pair.b.domain, 0, SIZE, ALL);
      from.write(0, pattern(arena, 5));
      pair.b.receive(7);
      SendList list = new SendList(1, 1);
      list.writeWithImmediate(0, 0xbeef).local(source, 0, SIZE).remote(0, target.rkey()).signaled();
      pair.a.run(list);
      Completions received = pair.b.completion(CompletionStatus.SUCCESS);
      assertEquals(7, received.id(0));
      assertEquals(0xbeef, received.immediate(0));
      assertContains(pattern(arena, 5), to);
    }
  }

  @DeviceTest
  void peersChangeDeviceMemoryAtomically() {
    try (Pair pair = Pair.connected(QueuePairType.RC);
        Arena arena = Arena.ofConfined()) {
      DeviceMemory memory = allocate(pair.b);
      MemoryRegion counter = memory.register(pair.b.domain, 8, 8, ALL);
      MemorySegment value = arena.allocate(ValueLayout.JAVA_LONG);
      memory.write(8, value);
      SendList list = new SendList(1, 1);
      for (int i = 0; i < 5; i++) {
        list.fetchAndAdd(0, 3).local(pair.a.memory, 0, 8).remote(0, counter.rkey()).signaled();
        pair.a.run(list);
        assertEquals(i * 3L, pair.a.memory.memory().get(ValueLayout.JAVA_LONG, 0));
      }
      for (long found : new long[] {15, 42}) {
        list.compareAndSwap(0, 15, 42)
            .local(pair.a.memory, 0, 8)
            .remote(0, counter.rkey())
            .signaled();
        pair.a.run(list);
        assertEquals(found, pair.a.memory.memory().get(ValueLayout.JAVA_LONG, 0));
        memory.read(8, value);
        assertEquals(42, value.get(ValueLayout.JAVA_LONG, 0));
      }
    }
  }

  @DeviceTest
  void peersWriteToDeviceMemory() {
    try (Pair pair = Pair.connected(QueuePairType.RC);
        Arena arena = Arena.ofConfined()) {
      DeviceMemory memory = Rig.orSkip(() -> DeviceMemory.allocate(pair.b.context, 4096));
      MemoryRegion region =
          memory.register(
              pair.b.domain, 1024, 1024, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      pair.a.memory.memory().setString(0, "to the device");
      SendList list = new SendList(1, 1);
      list.write(0).local(pair.a.memory, 0, 64).remote(region.start() + 8, region.rkey());
      list.signaled(0);
      pair.a.run(list);
      MemorySegment copy = arena.allocate(64);
      memory.read(1024 + 8, copy);
      assertEquals("to the device", copy.getString(0));
      VerbsException fixed =
          assertThrows(
              VerbsException.class,
              () -> region.reregister().access(AccessFlag.LOCAL_WRITE).apply());
      assertEquals(Errno.EINVAL, fixed.errno());
    }
  }

  @DeviceTest
  void peersReadWhatIsCopiedToDeviceMemory() {
    try (Pair pair = Pair.connected(QueuePairType.RC);
        Arena arena = Arena.ofConfined()) {
      DeviceMemory memory = Rig.orSkip(() -> DeviceMemory.allocate(pair.b.context, 4096));
      MemoryRegion region =
          memory.register(
              pair.b.domain, 1024, 1024, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
      memory.write(1024 + 8, arena.allocateFrom("to the peer"));
      SendList list = new SendList(1, 1);
      list.read(0).local(pair.a.memory, 0, 64).remote(region.start() + 8, region.rkey());
      list.signaled(0);
      pair.a.run(list);
      assertEquals("to the peer", pair.a.memory.memory().getString(0));
    }
  }

  @DeviceTest
  void deviceMemoryIsLimited() {
    try (Context context = Rig.a().open()) {
      Rig.orSkip(() -> DeviceMemory.allocate(context, 64)).close();
      long all = context.deviceAttributes().maxDeviceMemory();
      try (DeviceMemory memory = DeviceMemory.allocate(context, all)) {
        assertEquals(all, memory.length());
        assertThrows(VerbsException.class, () -> DeviceMemory.allocate(context, 1));
      }
      VerbsException more =
          assertThrows(VerbsException.class, () -> DeviceMemory.allocate(context, all + 1));
      assertTrue(more.getMessage().contains("max_dm_size"), more::getMessage);
      DeviceMemory.allocate(context, all).close();
    }
  }
}
