package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.DeviceKind.SOFT_ROCE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.io.FileDescriptors;
import dev.verbena.raw.ibv_alloc_dm_attr;
import dev.verbena.raw.ibv_dm;
import dev.verbena.testing.Descriptors;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairType;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Device memory: on a fake and on the emulated NIC, which have some, and on Soft-RoCE, which has
 * none.
 */
class DeviceMemoryTest extends FakeDeviceFixture {
  private final byte[] deviceMemory = new byte[256];
  private Path file;

  public long alloc_dm(long context, long attributes) {
    attr = copied(attributes, ibv_alloc_dm_attr.sizeof());
    MemorySegment dm = Memory.at(made(ibv_dm.layout(), context), ibv_dm.sizeof());
    ibv_dm.handle(dm, 77);
    ibv_dm.memcpy_to_dm(dm, ibv_dm.memcpy_to_dm.allocate(this::write, arena));
    ibv_dm.memcpy_from_dm(dm, ibv_dm.memcpy_from_dm.allocate(this::read, arena));
    return dm.address();
  }

  private int write(MemorySegment dm, long offset, MemorySegment host, long length) {
    MemorySegment.copy(
        Memory.at(host.address(), length), 0, MemorySegment.ofArray(deviceMemory), offset, length);
    return 0;
  }

  private int read(MemorySegment host, MemorySegment dm, long offset, long length) {
    MemorySegment.copy(
        MemorySegment.ofArray(deviceMemory), offset, Memory.at(host.address(), length), 0, length);
    return 0;
  }

  public int free_dm(long dm) {
    return gone();
  }

  public long reg_dm_mr(long pd, long dm, long offset, long length, int access) {
    arguments = new long[] {offset, length, access};
    return region(pd, length);
  }

  public int ibv_dm_export_dmabuf_fd(long dm) {
    return FileDescriptors.open(file);
  }

  public void ibv_dereg_mr(long mr) {
    gone();
  }

  @Test
  void deviceMemoryIsCopiedAndRegistered() {
    DeviceMemory memory = DeviceMemory.allocate(context, 256, 64);
    assertEquals(256, ibv_alloc_dm_attr.length(attr));
    assertEquals(6, ibv_alloc_dm_attr.log_align_req(attr));
    assertEquals(77, memory.handle());
    memory.write(8, arena.allocateFrom("on the device"));
    MemorySegment back = arena.allocate(14);
    memory.read(8, back);
    assertEquals("on the device", back.getString(0));
    memory.read(256, MemorySegment.NULL);
    memory.write(256, MemorySegment.NULL);
    assertThrows(IndexOutOfBoundsException.class, () -> memory.write(250, back));
    assertThrows(IndexOutOfBoundsException.class, () -> memory.read(-1, back));
    assertThrows(IllegalArgumentException.class, () -> memory.read(0, back.asReadOnly()));
    assertThrows(
        IllegalArgumentException.class, () -> memory.write(0, MemorySegment.ofArray(new byte[1])));
    MemoryRegion region = memory.register(pd, 64, 128, AccessFlag.LOCAL_WRITE);
    assertArrayEquals(new long[] {64, 128, 1 | 1 << 5}, arguments);
    assertEquals(0, region.start());
    assertEquals(128, region.addressOf(128, 0));
    assertThrows(IndexOutOfBoundsException.class, () -> memory.register(pd, 200, 57));
    try (Context other = context.device().open();
        ProtectionDomain foreign = other.allocateProtectionDomain()) {
      assertThrows(IllegalArgumentException.class, () -> memory.register(foreign, 0, 64));
    }
    memory.close();
    assertFalse(region.isOpen());
    assertThrows(IllegalStateException.class, () -> memory.read(0, back));
  }

  /** The descriptor of a file in place of the kernel's, which C returns for the caller to close. */
  @Test
  void anExportedBufferIsClosedOnce(@TempDir Path directory) throws IOException {
    file = Files.createTempFile(directory, "dmabuf", null).toRealPath();
    DmaBuf buffer = DeviceMemory.allocate(context, 256).exportDmaBuf();
    Path link = Path.of("/proc/self/fd", Integer.toString(buffer.descriptor()));
    assertEquals(file, link.toRealPath());
    buffer.close();
    assertEquals(0, Descriptors.of(file));
    try (DmaBuf _ = DmaBuf.of(FileDescriptors.open(file))) { // Most likely the same number.
      buffer.close();
      assertEquals(1, Descriptors.of(file));
    }
    assertEquals(0, Descriptors.of(file));
    assertThrows(IllegalStateException.class, buffer::descriptor);
    assertThrows(IllegalStateException.class, () -> pd.dmaBuf(buffer, 0, 64).register());
  }

  @Test
  void aDescriptorThatIsNotOpenIsAnError() {
    DmaBuf buffer = DmaBuf.of(987_654);
    assertThrows(VerbsException.class, buffer::close);
    buffer.close();
    assertThrows(IllegalArgumentException.class, () -> DmaBuf.of(-1));
  }

  @DeviceTest
  @On(MLX5)
  void peersUseTheMemoryThatIsExportedUntilItIsClosed() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      DeviceMemory before = DeviceMemory.allocate(pair.b.context, 4096);
      DeviceMemory memory = DeviceMemory.allocate(pair.b.context, 8192);
      before.write(0, MemorySegment.ofBuffer(ByteBuffer.allocateDirect(16)));
      try (DmaBuf buffer = Rig.orSkip(memory::exportDmaBuf)) {
        MemoryRegion region =
            pair.b
                .domain
                .dmaBuf(buffer, 4096, 4096)
                .access(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ)
                .register();
        MemorySegment local = pair.a.memory.memory();
        local.setString(0, "to the device");
        memory.write(4096, local.asSlice(0, 16));
        SendList list = new SendList(2, 1);
        list.read(0).local(pair.a.memory, 64, 16).remote(region.start(), region.rkey());
        list.write(1)
            .local(pair.a.memory, 0, 16)
            .remote(region.start() + 100, region.rkey())
            .signaled();
        pair.a.run(list);
        assertEquals("to the device", local.getString(64));
        memory.read(4096 + 100, local.asSlice(128, 16));
        assertEquals("to the device", local.getString(128));
        memory.close();
        SendList late = new SendList(1, 1);
        late.read(0).local(pair.a.memory, 64, 16).remote(region.start(), region.rkey()).signaled();
        pair.a.run(late, CompletionStatus.REM_ACCESS_ERR);
        VerbsException gone =
            assertThrows(VerbsException.class, pair.b.domain.dmaBuf(buffer, 0, 4096)::register);
        assertEquals(Errno.ENODEV, gone.errno());
      }
    }
  }

  @DeviceTest
  @On(SOFT_ROCE)
  void softRoceHasNoDeviceMemory() {
    try (Context context = Rig.a().open()) {
      assertThrows(IllegalArgumentException.class, () -> DeviceMemory.allocate(context, 0));
      assertThrows(IllegalArgumentException.class, () -> DeviceMemory.allocate(context, 64, 3));
      assertThrows(IllegalArgumentException.class, () -> DeviceMemory.allocate(context, 64, 0));
      assertThrows(IllegalArgumentException.class, () -> DeviceMemory.importFrom(context, 1, 0));
      Refusal.of(() -> DeviceMemory.allocate(context, 64, 8), "no device memory");
      Refusal.of(() -> DeviceMemory.importFrom(context, 1, 64));
    }
  }
}
