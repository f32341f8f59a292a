package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.SOFT_ROCE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_context;
import dev.verbena.raw.ibv_dm;
import dev.verbena.raw.ibv_pd;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What other processes made, imported from them: on a fake, and refused by Soft-RoCE. */
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
