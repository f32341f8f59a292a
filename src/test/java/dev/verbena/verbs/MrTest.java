package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static dev.verbena.testing.DeviceKind.SOFT_ROCE;
import static dev.verbena.testing.Need.CHECKED_COPIES;
import static dev.verbena.testing.Need.LINUX;
import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.DELETE_ON_CLOSE;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.attributes.OdpCapabilities;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.life.Core;
import dev.verbena.raw.ibv_mr;
import dev.verbena.raw.ibv_mr_init_attr;
import dev.verbena.raw.rdma_h;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.MemoryAdvice;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Assumptions;

/** Memory regions, as rdma-core's test_mr.py tests them. */
class MrTest {
  @DeviceTest
  void registersWithEveryAccessThatNeedsNothingSpecial() {
    try (Context context = Rig.a().open();
        Arena arena = Arena.ofConfined()) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      MemorySegment memory = arena.allocate(10_000);
      for (Set<AccessFlag> access :
          Set.of(
              Set.<AccessFlag>of(),
              Set.of(AccessFlag.LOCAL_WRITE),
              Set.of(AccessFlag.REMOTE_READ),
              Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE),
              Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_ATOMIC),
              Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND),
              Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.RELAXED_ORDERING))) {
        MemoryRegion region = pd.registerMemory(memory, access);
        assertEquals(access, region.access());
        assertEquals(memory.address(), region.start());
        assertEquals(10_000, region.length());
        assertSame(memory, region.memory());
        assertSame(pd, region.domain());
      }
    }
  }

  @DeviceTest
  void theSameMemoryHasAKeyForEachRegistration() {
    try (Context context = Rig.a().open();
        Arena arena = Arena.ofConfined()) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      MemorySegment memory = arena.allocate(64);
      MemoryRegion first = pd.registerMemory(memory);
      MemoryRegion second = pd.registerMemory(memory, AccessFlag.LOCAL_WRITE);
      assertNotEquals(first.lkey(), second.lkey());
      assertNotEquals(first.handle(), second.handle());
    }
  }

  @DeviceTest
  void closesTwiceAndWithItsDomain() {
    try (Context context = Rig.a().open();
        Arena arena = Arena.ofConfined()) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      MemoryRegion region = pd.registerMemory(arena.allocate(64));
      MemoryRegion other = pd.registerMemory(arena.allocate(64));
      region.close();
      region.close();
      assertThrows(IllegalStateException.class, region::handle);
      assertThrows(IllegalStateException.class, () -> region.addressOf(0, 1));
      pd.close();
      assertFalse(other.isOpen());
      assertThrows(IllegalStateException.class, () -> pd.registerMemory(arena.allocate(64)));
    }
  }

  @DeviceTest
  void contradictingFlagsThrow() {
    try (Context context = Rig.a().open();
        Arena arena = Arena.ofConfined()) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      MemorySegment memory = arena.allocate(64);
      for (AccessFlag flag :
          Set.of(AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC, AccessFlag.HUGETLB)) {
        var thrown =
            assertThrows(IllegalArgumentException.class, () -> pd.registerMemory(memory, flag));
        assertTrue(thrown.getMessage().startsWith(flag + " requires "), thrown.getMessage());
      }
      assertThrows(
          IllegalArgumentException.class,
          () -> pd.registerMemory(memory.asReadOnly(), AccessFlag.LOCAL_WRITE));
      assertThrows(IllegalArgumentException.class, () -> pd.registerMemory(memory.asSlice(0, 0)));
      assertThrows(
          IllegalArgumentException.class,
          () -> pd.registerMemory(MemorySegment.ofArray(new byte[64])));
    }
  }

  @DeviceTest
  void memoryOfAClosedArenaIsNotRegistered() {
    try (Context context = Rig.a().open()) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      MemorySegment gone;
      try (Arena arena = Arena.ofConfined()) {
        gone = arena.allocate(64);
      }
      assertThrows(IllegalStateException.class, () -> pd.registerMemory(gone));
    }
  }

  @DeviceTest
  void memoryOfAnotherThreadIsNotRegistered() throws InterruptedException {
    try (Context context = Rig.a().open();
        Arena arena = Arena.ofConfined()) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      MemorySegment memory = arena.allocate(64);
      Throwable[] thrown = new Throwable[1];
      Thread thread =
          Thread.ofPlatform()
              .start(
                  () -> thrown[0] = assertThrows(Throwable.class, () -> pd.registerMemory(memory)));
      thread.join();
      assertEquals(WrongThreadException.class, thrown[0].getClass());
    }
  }

  @DeviceTest
  void aRegionIsClosedWithItsArena() {
    try (Context context = Rig.a().open()) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      for (Arena arena : new Arena[] {Arena.ofShared(), Arena.ofConfined()}) {
        MemoryRegion region = pd.registerMemory(arena.allocate(64), AccessFlag.LOCAL_WRITE);
        assertEquals(region.start() + 8, region.addressOf(8, 56));
        arena.close();
        assertFalse(region.isOpen());
        var thrown =
            assertThrows(
                IllegalStateException.class, () -> new SendList(1, 1).send(0).local(region, 0, 8));
        assertEquals(Core.of(region) + " is closed", thrown.getMessage());
      }
    }
  }

  @DeviceTest
  void rangesOutsideOfTheRegionThrow() {
    try (Context context = Rig.a().open();
        Arena arena = Arena.ofConfined()) {
      MemoryRegion region = context.allocateProtectionDomain().registerMemory(arena.allocate(64));
      assertThrows(IndexOutOfBoundsException.class, () -> region.addressOf(0, 65));
      assertThrows(IndexOutOfBoundsException.class, () -> region.addressOf(64, 1));
      assertThrows(IndexOutOfBoundsException.class, () -> region.addressOf(-1, 1));
      assertThrows(IndexOutOfBoundsException.class, () -> region.addressOf(1, Long.MAX_VALUE));
    }
  }

  @DeviceTest
  void regionHasTheRequestedIova() {
    try (Loop loop = new Loop();
        Arena arena = Arena.ofShared()) {
      MemorySegment memory = arena.allocate(4096, 4096);
      memory.setString(0, "by another name");
      MemoryRegion region =
          loop.pd
              .memory(memory)
              .access(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ)
              .start(0x10_0000)
              .register();
      assertEquals(0x10_0000, region.start());
      SendList read = new SendList(1, 1);
      read.read(0).local(loop.region, 0, 64).remote(0x10_0000, region.rkey()).signaled();
      assertEquals(1, loop.qp.post(read));
      loop.complete(1);
      assertEquals("by another name", loop.region.memory().getString(0));
    }
  }

  @DeviceTest
  @Needs(LINUX)
  void mappedFilesAreRegistered() throws IOException {
    Path file = Path.of("/dev/shm", "verbena-" + ProcessHandle.current().pid());
    try (Loop loop = new Loop();
        Arena arena = Arena.ofShared();
        FileChannel channel = FileChannel.open(file, CREATE, READ, WRITE, DELETE_ON_CLOSE)) {
      MemorySegment memory = channel.map(FileChannel.MapMode.READ_WRITE, 0, 8192, arena);
      MemoryRegion region =
          loop.pd.registerMemory(memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      loop.region.memory().setString(0, "to the file");
      SendList write = new SendList(1, 1);
      write
          .write(0)
          .local(loop.region, 0, 12)
          .remote(region.start() + 4096, region.rkey())
          .signaled();
      assertEquals(1, loop.qp.post(write));
      loop.complete(1);
      Await.until("the data of the write", () -> memory.getString(4096).equals("to the file"));
      region.close();
    }
  }

  @DeviceTest
  void foreignSegmentsAreRegistered() {
    try (Context context = Rig.a().open();
        Arena owner = Arena.ofShared()) {
      // As from a function in C: an address, to which Java gave a size.
      MemorySegment memory =
          MemorySegment.ofAddress(owner.allocate(4096).address()).reinterpret(4096);
      MemoryRegion region =
          context.allocateProtectionDomain().registerMemory(memory, AccessFlag.LOCAL_WRITE);
      assertEquals(4096, region.length());
    }
  }

  @DeviceTest
  void borrowedRegionsStayWithTheirOwner() {
    try (Context context = Rig.a().open();
        Arena arena = Arena.ofConfined()) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      MemoryRegion owner = pd.registerMemory(arena.allocate(64), AccessFlag.LOCAL_WRITE);
      MemoryRegion region =
          MemoryRegion.borrow(
              pd,
              owner.memory(),
              Memory.at(owner.segment().address(), ibv_mr.sizeof()),
              owner.access());
      assertEquals(owner.lkey(), region.lkey());
      region.close();
      assertTrue(owner.isOpen());
    }
  }

  @DeviceTest
  @Needs(CHECKED_COPIES)
  void unmappedMemoryIsExplained() {
    try (Context context = Rig.a().open()) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      MemorySegment nowhere = MemorySegment.ofAddress(4096).reinterpret(4096);
      var thrown = assertThrows(VerbsException.class, () -> pd.registerMemory(nowhere));
      assertEquals(Errno.EFAULT, thrown.errno(), thrown.getMessage());
      assertTrue(thrown.getMessage().contains("is not mapped"), thrown.getMessage());
      assertTrue(thrown.getMessage().contains("4096 bytes"), thrown.getMessage());
    }
  }

  @DeviceTest
  @On(SOFT_ROCE)
  void softRoceDoesNotChangeRegions() {
    try (Loop loop = new Loop()) {
      MemorySegment memory = loop.region.memory();
      assertThrows(
          IllegalArgumentException.class,
          () -> loop.region.reregister().access(AccessFlag.REMOTE_WRITE).apply());
      assertThrows(
          IllegalArgumentException.class,
          () -> loop.region.reregister().memory(MemorySegment.ofArray(new byte[1])).apply());
      ProtectionDomain other = loop.context.allocateProtectionDomain();
      List<UnaryOperator<MemoryRegion.Reregistration>> changes =
          List.of(
              change -> change.memory(memory),
              change -> change.access(AccessFlag.LOCAL_WRITE),
              change -> change.domain(other));
      for (UnaryOperator<MemoryRegion.Reregistration> change : changes) {
        MemoryRegion region = loop.pd.registerMemory(memory);
        var changing = change.apply(region.reregister());
        Refusal.of(changing::apply, "the kernel failed", "still be closed");
        assertSame(loop.pd, region.domain());
        assertThrows(IllegalStateException.class, region::reregister);
        region.close();
      }
    }
  }

  @DeviceTest
  @On(SOFT_ROCE)
  void softRoceHasNoNullRegions() {
    try (Context context = Rig.a().open()) {
      Refusal.of(context.allocateProtectionDomain()::allocateNullRegion, "null memory regions");
    }
  }

  @DeviceTest
  @On(SOFT_ROCE)
  void softRoceHasNoZeroBasedRegions() {
    Assumptions.assumeFalse(
        Rig.labGuest().equals(Optional.of("bookworm")), "kernel 6.1 does not look at the flag");
    try (Context context = Rig.a().open();
        Arena arena = Arena.ofConfined()) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      Refusal.of(() -> pd.registerMemory(arena.allocate(64), AccessFlag.ZERO_BASED), "ZERO_BASED");
    }
  }

  @DeviceTest
  void kernelWithoutOnDemandPagingRejectsTheFlag() {
    try (Pair pair = new Pair()) {
      var region = pair.a.page(AccessFlag.LOCAL_WRITE, AccessFlag.ON_DEMAND);
      OdpCapabilities capabilities = pair.a.context.deviceAttributes().onDemandPaging();
      if (capabilities.supported()) {
        assertTrue(region.register().isOpen());
      } else {
        assertTrue(capabilities.rc().isEmpty() && capabilities.ud().isEmpty());
        var thrown = assertThrows(VerbsException.class, region::register);
        assertTrue(thrown.getMessage().contains("ON_DEMAND"), thrown.getMessage());
      }
    }
  }

  @DeviceTest
  @On(
      value = {SOFT_ROCE, MLX5},
      reason = "a software device has them: OdpTest")
  void softRoceHasNoImplicitRegion() {
    try (Pair pair = new Pair()) {
      var thrown =
          assertThrows(
              VerbsException.class,
              () -> pair.a.domain.registerAddressSpace(AccessFlag.LOCAL_WRITE));
      assertTrue(thrown.getMessage().contains("whole address space"), thrown.getMessage());
    }
  }

  @DeviceTest
  @On(
      value = {SOFTWARE, SOFT_ROCE},
      reason = "the emulated mlx5 registers them: DmaBufferTest")
  void softRoceDoesNotRegisterDmaBuffers() {
    try (Context context = Rig.a().open()) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      DmaBuf buffer = DmaBuf.of(0);
      assertThrows(IllegalArgumentException.class, () -> pd.dmaBuf(buffer, -1, 4096));
      assertThrows(IllegalArgumentException.class, () -> pd.dmaBuf(buffer, 0, 0));
      Refusal.of(
          () -> pd.dmaBuf(buffer, 0, 4096).access(AccessFlag.LOCAL_WRITE).register(), "4096 bytes");
    }
  }

  @DeviceTest
  void adviceOnPinnedMemoryFails() {
    try (Loop loop = new Loop()) {
      var thrown =
          assertThrows(
              IllegalStateException.class,
              () -> loop.region.adviseAndWait(MemoryAdvice.PREFETCH, 0, 4096));
      assertTrue(thrown.getMessage().contains("on-demand paging"), thrown.getMessage());
    }
  }

  @DeviceTest
  void registeredMemoryIsSent() {
    try (Loop loop = new Loop()) {
      byte[] text = {1, 2, 3, 4};
      MemorySegment memory = loop.region.memory();
      MemorySegment.copy(text, 0, memory, ValueLayout.JAVA_BYTE, 0, text.length);
      loop.send(1, false);
      loop.complete(1);
      assertArrayEquals(
          text, memory.asSlice(Loop.HALF, text.length).toArray(ValueLayout.JAVA_BYTE));
    }
  }

  @DeviceTest
  void theExtendedFunctionChecksTheSame() {
    try (Context context = Rig.a().open();
        Arena arena = Arena.ofConfined()) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      MemorySegment memory = arena.allocate(64);
      for (AccessFlag flag :
          Set.of(AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC, AccessFlag.HUGETLB)) {
        MemoryRegistration registration = pd.memory(memory).access(flag).extended();
        assertThrows(IllegalArgumentException.class, registration::register);
      }
    }
  }

  @DeviceTest
  void extendedFunctionRejectsMemoryWithDmaBuf() {
    try (Context context = Rig.a().open();
        Arena arena = Arena.ofConfined()) {
      ProtectionDomain pd = context.allocateProtectionDomain();
      Rig.orSkip(() -> pd.memory(arena.allocate(64)).extended().register()).close();
      MemorySegment attr = ibv_mr_init_attr.allocate(arena);
      ibv_mr_init_attr.length(attr, 64);
      ibv_mr_init_attr.addr(attr, arena.allocate(64));
      ibv_mr_init_attr.comp_mask(attr, rdma_h.IBV_REG_MR_MASK_ADDR() | rdma_h.IBV_REG_MR_MASK_FD());
      long domain = pd.segment().address();
      assertThrows(VerbsException.class, () -> pd.verbs().ibv_reg_mr_ex(domain, attr.address()));
    }
  }
}
