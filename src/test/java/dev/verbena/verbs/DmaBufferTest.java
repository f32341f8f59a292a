package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.MLX5;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.Errno;
import dev.verbena.NativeFlag;
import dev.verbena.VerbsException;
import dev.verbena.testing.Descriptors;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairType;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * DMA buffers, as rdma-core's test_mr.py tests them. The emulated NIC takes a file in memory for a
 * buffer of another device.
 */
@On(value = MLX5, reason = "a software device has no DMA buffers, nor has Soft-RoCE: MrTest")
class DmaBufferTest {
  private static final int SIZE = 4096;

  private static final AccessFlag[] ALL = {
    AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ
  };

  @DeviceTest
  void peersUseAPartOfADmaBuffer() {
    try (Pair pair = Pair.connected(QueuePairType.RC);
        DmaBuf buffer = DmaBuf.of(Descriptors.memoryFile(3 * 4096))) {
      MemoryRegion region =
          pair.b
              .domain
              .dmaBuf(buffer, 4096 + 64, 4096)
              .start(0x7000_0000L + 64)
              .access(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ)
              .register();
      assertEquals(0x7000_0000L + 64, region.start());
      MemoryRegion whole =
          pair.b.domain.dmaBuf(buffer, 0, 8192).access(AccessFlag.REMOTE_READ).register();
      pair.a.memory.memory().setString(0, "to the buffer");
      SendList list = new SendList(2, 1);
      list.write(0).local(pair.a.memory, 0, 16).remote(region.start() + 8, region.rkey());
      list.read(1)
          .local(pair.a.memory, 64, 16)
          .remote(whole.start() + 4096 + 72, whole.rkey())
          .signaled();
      pair.a.run(list);
      assertEquals("to the buffer", pair.a.memory.memory().getString(64));
      assertThrows(VerbsException.class, () -> pair.b.domain.dmaBuf(buffer, 8192, 8192).register());
    }
  }

  @DeviceTest
  void regionsAreRegisteredAndClosed() {
    try (Context context = Rig.a().open();
        DmaBuf buffer = DmaBuf.of(Descriptors.memoryFile(2 * SIZE))) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      Set<Integer> keys = new HashSet<>();
      for (Set<AccessFlag> access :
          List.of(
              Set.<AccessFlag>of(),
              Set.of(AccessFlag.LOCAL_WRITE),
              Set.of(AccessFlag.REMOTE_READ),
              Set.of(ALL))) {
        for (long offset : new long[] {0, SIZE}) {
          MemoryRegion region =
              pd.dmaBuf(buffer, offset, SIZE).access(access.toArray(AccessFlag[]::new)).register();
          assertEquals(access, region.access());
          assertEquals(SIZE, region.length());
          assertNotEquals(0, region.rkey());
          keys.add(region.lkey());
          if (offset == 0) {
            region.close();
            region.close();
            assertFalse(region.isOpen());
          }
        }
      }
      assertEquals(8, keys.size(), "each has a key of its own");
    }
  }

  @DeviceTest
  void contradictingFlagsThrow() {
    try (Context context = Rig.a().open();
        DmaBuf buffer = DmaBuf.of(Descriptors.memoryFile(SIZE))) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      for (AccessFlag flag : List.of(AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC)) {
        var registration = pd.dmaBuf(buffer, 0, SIZE).access(flag);
        assertThrows(IllegalArgumentException.class, registration::register);
        VerbsException refused =
            assertThrows(
                VerbsException.class,
                () ->
                    pd.verbs()
                        .ibv_reg_dmabuf_mr(
                            pd.segment().address(),
                            0,
                            SIZE,
                            0,
                            buffer.descriptor(),
                            (int) NativeFlag.mask(Set.of(flag))));
        assertEquals(Errno.EINVAL, refused.errno());
      }
    }
  }

  /** Maps the file of a buffer, as the program maps that of a GPU. */
  private static MemorySegment map(DmaBuf buffer, Arena arena) {
    Path file = Path.of("/proc/self/fd", Integer.toString(buffer.descriptor()));
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      return channel.map(FileChannel.MapMode.READ_WRITE, 0, channel.size(), arena);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  @DeviceTest
  void messagesGoFromBufferToBuffer() {
    try (Pair pair = Pair.connected(QueuePairType.RC);
        DmaBuf bufferA = DmaBuf.of(Descriptors.memoryFile(SIZE));
        DmaBuf bufferB = DmaBuf.of(Descriptors.memoryFile(SIZE));
        Arena arena = Arena.ofConfined()) {
      MemorySegment sent = map(bufferA, arena);
      MemorySegment received = map(bufferB, arena);
      MemoryRegion from = pair.a.domain.dmaBuf(bufferA, 0, SIZE).register();
      MemoryRegion to =
          pair.b.domain.dmaBuf(bufferB, 0, SIZE).access(AccessFlag.LOCAL_WRITE).register();
      SendList list = new SendList(1, 1);
      list.send(0).local(from, 0, 1024).signaled();
      for (int i = 1; i <= 10; i++) {
        sent.fill((byte) i);
        pair.b.receive(i, to);
        pair.a.run(list);
        assertEquals(1024, pair.b.completion(CompletionStatus.SUCCESS).byteLength(0));
        assertEquals(1024, sent.mismatch(received));
        received.asSlice(1024).fill((byte) 0);
      }
    }
  }

  @DeviceTest
  void theProgramWritesAndReadsTheBuffer() {
    try (Pair pair = Pair.connected(QueuePairType.RC);
        DmaBuf buffer = DmaBuf.of(Descriptors.memoryFile(SIZE));
        Arena arena = Arena.ofConfined()) {
      MemorySegment memory = map(buffer, arena);
      MemoryRegion region = pair.b.domain.dmaBuf(buffer, 0, SIZE).access(ALL).register();
      memory.setString(100, "of the program");
      pair.a.memory.memory().setString(64, "of the peer");
      SendList list = new SendList(2, 1);
      list.read(0).local(pair.a.memory, 0, 16).remote(region.start() + 100, region.rkey());
      list.write(1)
          .local(pair.a.memory, 64, 16)
          .remote(region.start() + 200, region.rkey())
          .signaled();
      pair.a.run(list);
      assertEquals("of the program", pair.a.memory.memory().getString(0));
      assertEquals("of the peer", memory.getString(200));
      assertEquals(0, memory.get(ValueLayout.JAVA_LONG, 192));
    }
  }
}
