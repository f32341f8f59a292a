package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.DeviceKind.SOFT_ROCE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_context;
import dev.verbena.raw.ibv_dm;
import dev.verbena.raw.ibv_pd;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairType;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * What other processes made, imported from them: on a fake, from another context of a process with
 * libmlx5, and refused by Soft-RoCE.
 */
class ImportTest extends FakeDeviceFixture {
  public long ibv_import_dm(long context, int handle) {
    return made(ibv_dm.layout(), context);
  }

  public void ibv_unimport_dm(long dm) {
    gone();
  }

  public long ibv_import_mr(long pd, int handle) {
    return region(pd, 4096);
  }

  public void ibv_unimport_mr(long mr) {
    gone();
  }

  public long ibv_import_pd(long context, int handle) {
    return made(ibv_pd.layout(), context);
  }

  public void ibv_unimport_pd(long pd) {
    gone();
  }

  @Test
  void memoryOfOtherProcessesIsImported() {
    DeviceMemory memory = DeviceMemory.importFrom(context, 77, 256);
    assertEquals(256, memory.length());
    ProtectionDomain imported = context.importProtectionDomain(3);
    MemoryRegion region =
        imported.importMemoryRegion(7, 0x5000, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
    assertEquals(4096, region.length());
    assertEquals(0x5008, region.addressOf(8, 4088));
    assertEquals(0, region.memory().byteSize());
    var refused = assertThrows(IllegalStateException.class, () -> new PolledMemory(region));
    assertEquals("the memory of " + region + " is not of this process", refused.getMessage());
    assertEquals(Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ), region.access());
  }

  public long ibv_import_device(int descriptor) {
    arguments = new long[] {descriptor};
    return provider.verbs().ibv_open_device(device());
  }

  private long device() {
    return ibv_context
        .device(Memory.at(context.segment().address(), ibv_context.sizeof()))
        .address();
  }

  /** {@code verbs_uninit_context} of libibverbs closes the descriptor with the context. */
  @Test
  void aContextIsImportedByADuplicateOfItsDescriptor() throws IOException {
    try (dev.verbena.internal.io.EventFile file = dev.verbena.internal.io.EventFile.open();
        Context imported = Device.importContext(provider, file.descriptor())) {
      assertNotEquals(file.descriptor(), arguments[0]);
      assertEquals(link(file.descriptor()), link(arguments[0]));
      assertEquals(context.device().name(), imported.device().name());
      assertTrue(imported.allocateProtectionDomain().isOpen());
    }
    assertThrows(IllegalArgumentException.class, () -> Device.importContext(provider, -1));
    assertTrue(context.isOpen());
  }

  private static Path link(long descriptor) throws IOException {
    return Files.readSymbolicLink(Path.of("/proc/self/fd", Long.toString(descriptor)));
  }

  @DeviceTest
  @On(MLX5)
  void theQueuePairOfAnImportedContextUsesWhatTheOtherMade() {
    try (Pair pair = new Pair();
        Context imported = Device.importContext(pair.b.context.commandDescriptor());
        Arena arena = Arena.ofConfined()) {
      assertEquals(pair.b.context.device().name(), imported.device().name());
      ProtectionDomain domain = imported.importProtectionDomain(pair.b.domain.handle());
      MemoryRegion original = pair.b.memory;
      MemoryRegion region =
          domain.importMemoryRegion(original.handle(), original.start(), AccessFlag.REMOTE_WRITE);
      assertEquals(original.rkey(), region.rkey());
      assertEquals(original.length(), region.length());
      DeviceMemory allocated = DeviceMemory.allocate(pair.b.context, 256);
      DeviceMemory memory = DeviceMemory.importFrom(imported, allocated.handle(), 256);
      pair.a.queuePair = pair.a.builder(QueuePairType.RC).create();
      CompletionQueue queue = imported.createCompletionQueue(8);
      pair.b.queuePair = QueuePair.builder(domain, QueuePairType.RC).completions(queue).create();
      pair.connect();
      MemoryRegion target =
          memory.register(domain, 0, 256, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      pair.a.memory.memory().setString(0, "imported");
      SendList list = new SendList(2, 1);
      list.write(0).local(pair.a.memory, 0, 16).remote(region.addressOf(0, 16), region.rkey());
      list.write(1).local(pair.a.memory, 0, 16).remote(target.start(), target.rkey()).signaled();
      pair.a.run(list);
      assertEquals("imported", original.memory().getString(0));
      MemorySegment copy = arena.allocate(16);
      allocated.read(0, copy);
      assertEquals("imported", copy.getString(0));
    }
  }

  @DeviceTest
  @On(MLX5)
  void importedHandlesMustExist() {
    try (Context context = Rig.a().open();
        Context imported = Device.importContext(context.commandDescriptor())) {
      ProtectionDomain domain = context.allocateProtectionDomain();
      assertThrows(VerbsException.class, () -> imported.importProtectionDomain(60_000));
      assertThrows(VerbsException.class, () -> domain.importMemoryRegion(60_000, 0x1000));
      assertThrows(VerbsException.class, () -> DeviceMemory.importFrom(imported, 60_000, 64));
    }
  }

  @DeviceTest
  @On(SOFT_ROCE)
  void softRoceDoesNotImport() {
    try (Context real = Rig.a().open()) {
      Refusal.of(() -> Device.importContext(real.commandDescriptor()));
      ProtectionDomain domain = real.allocateProtectionDomain();
      Refusal.of(() -> real.importProtectionDomain(domain.handle()));
      Refusal.of(() -> domain.importMemoryRegion(1, 0x1000));
      Refusal.of(() -> DeviceMemory.importFrom(real, 1, 64));
    }
  }
}
