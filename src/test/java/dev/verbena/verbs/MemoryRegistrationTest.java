package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.ReregistrationFailure;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.io.FileDescriptors;
import dev.verbena.internal.rules.AccessRules;
import dev.verbena.raw.ibv_mr;
import dev.verbena.raw.ibv_mr_init_attr;
import dev.verbena.raw.ibv_sge;
import dev.verbena.testing.Await;
import dev.verbena.testing.Descriptors;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.MemoryAdvice;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Registrations as C gets them, and what its refusals are turned into. */
class MemoryRegistrationTest extends FakeDeviceFixture {
  private VerbsException refusal;
  private ReregistrationFailure failing;
  private Runnable duringRegistration = () -> {};

  public void ibv_dereg_mr(long mr) {
    gone();
  }

  public long ibv_reg_mr(long pd, long address, long length, int access) {
    if (refusal != null) {
      throw refusal;
    }
    arguments = new long[] {address, length, access};
    return region(pd, length);
  }

  public long ibv_reg_mr_ex(long pd, long attributes) {
    attr = copied(attributes, ibv_mr_init_attr.sizeof());
    return region(pd, ibv_mr_init_attr.length(attr));
  }

  public long ibv_reg_dmabuf_mr(long pd, long offset, long length, long iova, int fd, int access) {
    arguments = new long[] {offset, length, iova, fd, access};
    duringRegistration.run();
    return region(pd, length);
  }

  public long alloc_null_mr(long pd) {
    return region(pd, 0);
  }

  public int ibv_rereg_mr(long mr, int flags, long pd, long address, long length, int access) {
    arguments = new long[] {flags, pd, address, length, access};
    duringRegistration.run();
    if (failing != null) {
      throw failing;
    }
    ibv_mr.lkey(Memory.at(mr, ibv_mr.sizeof()), 0x300);
    return 0;
  }

  public int advise_mr(long pd, int advice, int flags, long list, int count) {
    attr = copied(list, ibv_sge.sizeof());
    arguments = new long[] {advice, flags, count};
    return 0;
  }

  @Test
  void registrationsWith64BitLengthsAndWithoutMemoryHere() {
    MemoryRegion all = pd.registerAddressSpace(AccessFlag.LOCAL_WRITE);
    assertArrayEquals(new long[] {0, -1, 1 | 1 << 6}, arguments);
    assertEquals(0x7000_0000_0000L, all.addressOf(0x7000_0000_0000L, 1L << 40));
    MemorySegment large = MemorySegment.ofAddress(0x10000).reinterpret(1L << 40);
    assertEquals(1L << 40, pd.registerMemory(large).length());
    assertArrayEquals(new long[] {0x10000, 1L << 40, 0}, arguments);
    MemoryRegion none = pd.allocateNullRegion();
    assertEquals(0, none.addressOf(0, 1L << 40));
    DmaBuf dmaBuf = DmaBuf.of(9);
    MemoryRegion buffer = pd.dmaBuf(dmaBuf, 4096, 8192).access(AccessFlag.LOCAL_WRITE).register();
    assertArrayEquals(new long[] {4096, 8192, 4096, 9, 1}, arguments);
    assertEquals(4096, buffer.start());
    assertEquals(0x2000, pd.dmaBuf(dmaBuf, 0, 8192).start(0x2000).register().start());
    assertArrayEquals(new long[] {0, 8192, 0x2000, 9, 0}, arguments);
    assertEquals(0, pd.registerMemory(arena.allocate(8), AccessFlag.ZERO_BASED).start());
  }

  @Test
  void closeOfADmaBufWaitsForItsRegistration(@TempDir Path directory) throws Exception {
    Path file = Files.createTempFile(directory, "dmabuf", null).toRealPath();
    DmaBuf buffer = DmaBuf.of(FileDescriptors.open(file));
    Thread closing = new Thread(buffer::close);
    List<Integer> open = new ArrayList<>();
    duringRegistration =
        () -> {
          closing.start();
          Await.waits(closing);
          open.add(assertDoesNotThrow(() -> Descriptors.of(file)));
        };
    pd.dmaBuf(buffer, 0, 64).register();
    closing.join();
    assertEquals(List.of(1), open);
    assertEquals(0, Descriptors.of(file));
  }

  @Test
  void theLimitOfLockedMemoryIsNamed() {
    refusal = new VerbsException("ibv_reg_mr", Errno.ENOMEM);
    var thrown = assertThrows(VerbsException.class, () -> pd.registerMemory(arena.allocate(4096)));
    assertEquals(Errno.ENOMEM, thrown.errno());
    String message = thrown.getMessage();
    assertTrue(message.contains("limit of locked memory is "), message);
    assertTrue(message.contains("ulimit -l"), message);
    assertFalse(message.contains("unknown"), message);
  }

  @Test
  void aChangedRegionIsValidatedAgain() {
    MemoryRegion region = pd.registerMemory(arena.allocate(64), AccessFlag.LOCAL_WRITE);
    QueuePair pair =
        QueuePair.builder(pd, QueuePairType.RC)
            .completions(context.createCompletionQueue(16))
            .capacity(QueuePairCapacity.of(4))
            .create();
    pair.connect(pair.localAddress());
    ReceiveList receive = new ReceiveList(1, 1);
    receive.local(0, region, 0, 8);
    assertEquals(1, pair.post(receive));
    region.reregister().access(AccessFlag.REMOTE_READ).apply();
    var notWritable = assertThrows(IllegalArgumentException.class, () -> pair.post(receive));
    assertTrue(notWritable.getMessage().contains("LOCAL_WRITE"), notWritable.getMessage());
    region.reregister().access(AccessFlag.LOCAL_WRITE).apply();
    assertEquals(1, pair.post(receive));
    ProtectionDomain other = context.allocateProtectionDomain();
    region.reregister().domain(other).apply();
    var foreign = assertThrows(IllegalArgumentException.class, () -> pair.post(receive));
    assertTrue(foreign.getMessage().contains("protection domain"), foreign.getMessage());
  }

  @Test
  void accessIsDroppedOnlyByAnEmptySet() {
    for (Method method : MemoryRegion.Reregistration.class.getMethods()) {
      assertFalse(method.isVarArgs() && method.getParameterCount() == 1, method.toString());
    }
    MemoryRegion region = pd.registerMemory(arena.allocate(64), AccessFlag.LOCAL_WRITE);
    region.reregister().access(Set.of()).apply();
    assertEquals(4, arguments[0]);
    assertEquals(0, arguments[4]);
    assertEquals(Set.of(), region.access());
    region.reregister().access(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE).apply();
    assertEquals(Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE), region.access());
  }

  @Test
  void aRegionIsChanged() {
    MemoryRegion region = pd.registerMemory(arena.allocate(64));
    MemorySegment other = arena.allocate(128);
    region.reregister().memory(other).apply();
    assertArrayEquals(new long[] {1, pd.segment().address(), other.address(), 128, 0}, arguments);
    assertSame(other, region.memory());
    assertEquals(128, region.length());
    assertEquals(0x300, region.lkey());
    region.reregister().access(AccessFlag.LOCAL_WRITE).apply();
    assertEquals(4, arguments[0]);
    assertEquals(1, arguments[4]);
    assertEquals(Set.of(AccessFlag.LOCAL_WRITE), region.access());
    ProtectionDomain second = context.allocateProtectionDomain();
    region.reregister().domain(second).apply();
    assertEquals(2, arguments[0]);
    assertSame(second, region.domain());
    pd.close();
    assertTrue(region.isOpen());
    second.close();
    assertFalse(region.isOpen());
  }

  @Test
  void changesAreCombined() {
    MemoryRegion region = pd.registerMemory(arena.allocate(64), AccessFlag.LOCAL_WRITE);
    MemorySegment other = arena.allocate(128);
    ProtectionDomain second = context.allocateProtectionDomain();
    long target = second.segment().address();
    region.reregister().memory(other).domain(second).access(AccessFlag.REMOTE_READ).apply();
    assertArrayEquals(new long[] {7, target, other.address(), 128, 4}, arguments);
    assertSame(other, region.memory());
    assertSame(second, region.domain());
    assertEquals(Set.of(AccessFlag.REMOTE_READ), region.access());
    pd.close();
    assertTrue(region.isOpen());
    assertThrows(IllegalStateException.class, region.reregister()::apply);
    second.close();
    assertFalse(region.isOpen());
  }

  @Test
  void theNewAccessAndTheNewMemoryAreChecked() {
    MemorySegment readOnly = arena.allocate(64).asReadOnly();
    MemoryRegion region = pd.registerMemory(arena.allocate(64), AccessFlag.LOCAL_WRITE);
    var unchangedAccess = region.reregister().memory(readOnly);
    assertThrows(IllegalArgumentException.class, unchangedAccess::apply);
    region.reregister().memory(readOnly).access(Set.of()).apply();
    var unchangedMemory = region.reregister().access(AccessFlag.LOCAL_WRITE);
    assertThrows(IllegalArgumentException.class, unchangedMemory::apply);
    region.reregister().memory(arena.allocate(8)).access(AccessFlag.LOCAL_WRITE).apply();
    assertEquals(8, region.length());
    var remoteWithoutLocal = region.reregister().access(AccessFlag.REMOTE_WRITE);
    assertThrows(IllegalArgumentException.class, remoteWithoutLocal::apply);
  }

  /** See {@code ibv_rereg_mr(3)}. */
  @ParameterizedTest
  @ValueSource(ints = {-1, -2})
  void aRegionIsAsBeforeIfTheCallHadNoEffect(int code) {
    MemorySegment memory = arena.allocate(64);
    MemoryRegion region = pd.registerMemory(memory, AccessFlag.LOCAL_WRITE);
    failing = new ReregistrationFailure("ibv_rereg_mr", code, Errno.EINVAL);
    var change = region.reregister().memory(arena.allocate(128)).access(AccessFlag.REMOTE_READ);
    var thrown = assertThrows(VerbsException.class, change::apply);
    assertTrue(thrown.getMessage().contains("the region is unchanged"), thrown.getMessage());
    assertSame(memory, region.memory());
    assertEquals(Set.of(AccessFlag.LOCAL_WRITE), region.access());
    assertEquals(memory.address() + 64, region.addressOf(64, 0));
    failing = null;
    change.apply();
    assertEquals(128, region.length());
  }

  @Test
  void aRegionIsChangedIfOnlyTheOldMemoryIsNotSeenByChildren() {
    MemorySegment memory = arena.allocate(128);
    MemoryRegion region = pd.registerMemory(arena.allocate(64), AccessFlag.LOCAL_WRITE);
    ProtectionDomain second = context.allocateProtectionDomain();
    failing = new ReregistrationFailure("ibv_rereg_mr", -3, Errno.ENOMEM);
    var change = region.reregister().memory(memory).domain(second).access(AccessFlag.REMOTE_READ);
    var thrown = assertThrows(VerbsException.class, change::apply);
    assertTrue(thrown.getMessage().contains("the region is changed"), thrown.getMessage());
    assertSame(memory, region.memory());
    assertSame(second, region.domain());
    assertEquals(Set.of(AccessFlag.REMOTE_READ), region.access());
    assertEquals(memory.address() + 128, region.addressOf(128, 0));
    pd.close();
    assertTrue(region.isOpen());
  }

  /** The device may use either memory, so the region is closed before either of them is freed. */
  @ParameterizedTest
  @ValueSource(ints = {-4, -5})
  void aRegionThatTheKernelCouldNotChangeCanOnlyBeClosed(int code) {
    QueuePair pair =
        QueuePair.builder(pd, QueuePairType.RC)
            .completions(context.createCompletionQueue(16))
            .capacity(QueuePairCapacity.of(4))
            .create();
    pair.connect(pair.localAddress());
    for (boolean newMemoryFirst : new boolean[] {false, true}) {
      Arena first = Arena.ofShared();
      Arena second = Arena.ofShared();
      MemoryRegion region = pd.registerMemory(first.allocate(64), AccessFlag.LOCAL_WRITE);
      ReceiveList receive = new ReceiveList(1, 1);
      receive.local(0, region, 0, 8);
      assertEquals(1, pair.post(receive));
      failing = new ReregistrationFailure("ibv_rereg_mr", code, Errno.EFAULT);
      var change = region.reregister().memory(second.allocate(64));
      assertEquals(Errno.EFAULT, assertThrows(VerbsException.class, change::apply).errno());
      assertThrows(IllegalStateException.class, () -> pair.post(receive));
      assertThrows(IllegalStateException.class, () -> region.addressOf(0, 8));
      assertThrows(IllegalStateException.class, change::apply);
      assertTrue(region.isOpen());
      (newMemoryFirst ? second : first).close();
      assertFalse(region.isOpen());
      (newMemoryFirst ? first : second).close();
    }
  }

  /** Otherwise the memory would be freed while the peer writes to it with the keys that it has. */
  @Test
  void anArenaThatIsClosedDuringTheChangeClosesTheRegion() throws Exception {
    MemoryRegion region = pd.registerMemory(arena.allocate(64), AccessFlag.LOCAL_WRITE);
    Arena other = Arena.ofShared();
    Thread closing = new Thread(other::close);
    List<Boolean> freed = new ArrayList<>();
    MemorySegment memory = other.allocate(64);
    duringRegistration =
        () -> {
          closing.start();
          Await.waits(closing);
          freed.add(!closing.isAlive());
        };
    var change = region.reregister().memory(memory);
    change.apply();
    closing.join();
    assertEquals(List.of(false), freed);
    assertFalse(region.isOpen());
  }

  @Test
  void adviceNamesARange() {
    MemorySegment memory = arena.allocate(64);
    MemoryRegion region = pd.registerMemory(memory, AccessFlag.ON_DEMAND);
    region.adviseAndWait(MemoryAdvice.PREFETCH_WRITE, 16, 32);
    assertThrows(
        IndexOutOfBoundsException.class, () -> region.adviseAndWait(MemoryAdvice.PREFETCH, 33, 32));
    assertThrows(
        IllegalArgumentException.class,
        () -> region.adviseAndWait(MemoryAdvice.PREFETCH, 0, 1L << 32));
    assertArrayEquals(new long[] {1, 1, 1}, arguments);
    assertEquals(memory.address() + 16, ibv_sge.addr(attr));
    assertEquals(32, ibv_sge.length(attr));
    assertEquals(region.lkey(), ibv_sge.lkey(attr));
  }

  @Test
  void anUnlimitedLockedMemoryIsNotTheReason() {
    String unlimited = AccessRules.lockedMemoryAdvice("unlimited");
    assertFalse(unlimited.contains("ulimit -l"), unlimited);
    assertTrue(unlimited.contains("cgroup"), unlimited);
    assertTrue(AccessRules.lockedMemoryAdvice("65536 bytes").contains("ulimit -l"));
  }
}
