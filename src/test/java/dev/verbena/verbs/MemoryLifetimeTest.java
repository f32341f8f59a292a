package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.jfr.ObjectName;
import dev.verbena.raw.ibv_pd;
import dev.verbena.testing.Await;
import dev.verbena.values.AccessFlag;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** How long memory lives that a device may write to. */
class MemoryLifetimeTest extends FakeDeviceFixture {
  private final AtomicReference<MemorySegment> deregistering = new AtomicReference<>();
  private boolean aliveAtDeregistration;
  private AtomicBoolean freedAtDeregistration;
  private boolean wasFreedAtDeregistration;
  private Arena closedByRegistration;
  private boolean refuses;

  public long ibv_reg_mr(long pd, long address, long length, int access) {
    arguments = new long[] {address, length, access};
    if (closedByRegistration != null) {
      closedByRegistration.close();
    }
    return region(pd, length);
  }

  public void ibv_dereg_mr(long mr) {
    MemorySegment memory = deregistering.get();
    aliveAtDeregistration = memory == null || memory.scope().isAlive();
    wasFreedAtDeregistration |= freedAtDeregistration != null && freedAtDeregistration.get();
    if (refuses) {
      throw new VerbsException("ibv_dereg_mr", Errno.EBUSY);
    }
    gone();
  }

  /** Memory that says when it is freed, which is when nothing refers to it any more. */
  private static MemorySegment automatic(AtomicBoolean freed) {
    return MemorySegment.ofAddress(0x1000)
        .reinterpret(64, Arena.ofAuto(), segment -> freed.set(true));
  }

  private static void collect() {
    WeakReference<Object> garbage = new WeakReference<>(new Object());
    while (garbage.get() != null) {
      System.gc();
    }
  }

  private static void awaitFreed(AtomicBoolean freed) {
    Await.until(
        "the end of the memory",
        () -> {
          System.gc();
          return freed.get();
        });
  }

  @Test
  void unreachableRegionKeepsItsMemory() throws InterruptedException {
    AtomicBoolean freed = new AtomicBoolean();
    WeakReference<Context> forgotten = forget(automatic(freed));
    while (forgotten.get() != null) {
      collect();
    }
    AtomicBoolean other = new AtomicBoolean();
    automatic(other);
    awaitFreed(other); // What could be freed before this is freed.
    assertFalse(freed.get(), "the device may still write to it");
  }

  /** Nothing refers to the Java objects any more; what C has is given back another way. */
  private WeakReference<Context> forget(MemorySegment memory) {
    Context lost = Context.borrow(provider, context.segment());
    ProtectionDomain domain =
        ProtectionDomain.borrow(lost, Memory.at(pd.segment().address(), ibv_pd.sizeof()));
    domain.registerMemory(memory, AccessFlag.LOCAL_WRITE);
    gone();
    return new WeakReference<>(lost);
  }

  @Test
  void closedRegionReleasesItsMemory() throws InterruptedException {
    AtomicBoolean freed = new AtomicBoolean();
    pd.registerMemory(automatic(freed)).close();
    awaitFreed(freed);
    AtomicBoolean replaced = new AtomicBoolean();
    MemoryRegion region = pd.registerMemory(automatic(replaced));
    collect();
    assertFalse(replaced.get());
    region.reregister().memory(arena.allocate(8)).apply();
    awaitFreed(replaced);
  }

  public int ibv_rereg_mr(long mr, int flags, long pd, long address, long length, int access) {
    return 0;
  }

  @Test
  void arenaDoesNotKeepAnUnreachableContext() {
    Arena memory = Arena.ofShared();
    WeakReference<Context> forgotten = forget(memory.allocate(64));
    while (forgotten.get() != null) {
      collect();
    }
    assertTrue(memory.scope().isAlive());
  }

  @Test
  void closingAnArenaFirstClosesItsRegions() {
    Arena shared = Arena.ofShared();
    AtomicBoolean freed = new AtomicBoolean();
    List<MemoryRegion> regions = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      MemorySegment memory =
          MemorySegment.ofAddress(0x1000 * (i + 1L))
              .reinterpret(64, shared, segment -> freed.set(true));
      regions.add(pd.registerMemory(memory));
      regions.add(pd.registerMemory(memory.asSlice(8, 8)));
      regions.add(pd.registerMemory(memory));
    }
    regions.removeLast().close();
    freedAtDeregistration = freed;
    shared.close();
    assertFalse(wasFreedAtDeregistration);
    assertTrue(freed.get());
    for (MemoryRegion region : regions) {
      assertFalse(region.isOpen());
      var closed = assertThrows(IllegalStateException.class, region::memory);
      assertEquals(ObjectName.of(region) + " is closed", closed.getMessage());
    }
  }

  /** The scope of an arena that a program defines is that of one of the JDK's. */
  @Test
  void closingAnArenaOfAProgramFirstClosesItsRegions() {
    Arena shared = Arena.ofShared();
    Arena slicing =
        new Arena() {
          @Override
          public MemorySegment allocate(long size, long alignment) {
            return shared.allocate(1 << 16, alignment).asSlice(0, size);
          }

          @Override
          public MemorySegment.Scope scope() {
            return shared.scope();
          }

          @Override
          public void close() {
            shared.close();
          }
        };
    MemoryRegion region = pd.registerMemory(slicing.allocate(64));
    slicing.close();
    assertFalse(region.isOpen());
  }

  @Test
  void closingAConfinedArenaClosesItsRegions() {
    Arena confined = Arena.ofConfined();
    MemoryRegion first = pd.registerMemory(confined.allocate(64));
    MemoryRegion second = pd.registerMemory(confined.allocate(64));
    confined.close();
    assertFalse(first.isOpen() || second.isOpen());
  }

  @Test
  void closingAnArenaClosesTheRegionThatWasRegisteredAgainInIt() {
    Arena first = Arena.ofShared();
    Arena second = Arena.ofShared();
    MemoryRegion region = pd.registerMemory(first.allocate(64));
    region.reregister().memory(second.allocate(64)).apply();
    first.close();
    assertTrue(region.isOpen());
    second.close();
    assertFalse(region.isOpen());
  }

  @Test
  void regionOfAnArenaThatIsClosedDuringTheRegistrationIsNotCreated() {
    closedByRegistration = Arena.ofShared();
    MemorySegment memory = closedByRegistration.allocate(64);
    var closed = assertThrows(IllegalStateException.class, () -> pd.registerMemory(memory));
    assertTrue(closed.getMessage().contains("was closed while"), closed.getMessage());
    closedByRegistration = null;
  }

  /** Nobody can close the region any more: the device may write to the memory for ever. */
  @Test
  void memoryOfAnArenaStaysAllocatedIfItsRegionIsUnreachable() {
    Arena shared = Arena.ofShared();
    AtomicBoolean freed = new AtomicBoolean();
    WeakReference<Context> forgotten =
        forget(MemorySegment.ofAddress(0x1000).reinterpret(64, shared, segment -> freed.set(true)));
    while (forgotten.get() != null) {
      collect();
    }
    assertThrows(Error.class, shared::close);
    assertFalse(freed.get(), "the device may still write to it");
  }

  @Test
  void memoryOfAnArenaStaysAllocatedIfItsRegionCannotBeClosed() {
    AtomicBoolean freed = new AtomicBoolean();
    Arena shared = Arena.ofShared();
    MemorySegment memory =
        MemorySegment.ofAddress(0x1000).reinterpret(64, shared, segment -> freed.set(true));
    MemoryRegion region = pd.registerMemory(memory);
    refuses = true;
    var thrown = assertThrows(Error.class, shared::close);
    assertInstanceOf(VerbsException.class, thrown.getCause());
    assertTrue(region.isOpen());
    assertFalse(freed.get(), "the device may still write to it");
    refuses = false;
    region.close();
  }

  @Test
  void aClosedRegionHasNoMemory() {
    MemoryRegion region = pd.registerMemory(arena.allocate(64));
    assertEquals(64, region.memory().byteSize());
    region.close();
    assertThrows(IllegalStateException.class, region::memory);
    assertThrows(IllegalStateException.class, () -> RemoteMemory.of(region));
  }

  @Test
  void allocatedMemoryIsWholePages() {
    MemoryRegion region = pd.allocateMemory(5000, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
    MemorySegment memory = region.memory();
    assertEquals(5000, memory.byteSize());
    assertEquals(0, memory.address() % 4096);
    assertEquals(memory.address(), arguments[0]);
    assertEquals(5000, arguments[1]);
    assertEquals(1 | 4, arguments[2]);
    assertEquals(-1, memory.mismatch(arena.allocate(5000)), "zeroed");
    deregistering.set(memory);
    refuses = true;
    assertThrows(VerbsException.class, region::close);
    assertTrue(region.isOpen() && memory.scope().isAlive());
    refuses = false;
    region.close();
    assertTrue(aliveAtDeregistration);
    assertFalse(memory.scope().isAlive());
    assertThrows(IllegalStateException.class, () -> memory.get(ValueLayout.JAVA_BYTE, 0));
  }

  @Test
  void failedAllocationIsExplained() {
    for (long size : new long[] {0, -1, Long.MIN_VALUE}) {
      var thrown = assertThrows(IllegalArgumentException.class, () -> pd.allocateMemory(size));
      assertEquals("the size of a memory region must be positive: " + size, thrown.getMessage());
    }
    for (long size : new long[] {Long.MAX_VALUE, 1L << 60}) {
      assertThrows(OutOfMemoryError.class, () -> pd.allocateMemory(size));
    }
    pd.close();
    assertThrows(IllegalStateException.class, () -> pd.allocateMemory(64));
  }

  @Test
  void memoryInUseIsFreedAfterItsUse() throws Exception {
    Pipe pipe = Pipe.open();
    MemoryRegion region = pd.allocateMemory(64, AccessFlag.LOCAL_WRITE);
    MemorySegment memory = region.memory();
    FutureTask<Integer> read = new FutureTask<>(() -> pipe.source().read(memory.asByteBuffer()));
    Thread reader = Thread.ofPlatform().daemon().start(read);
    Await.until("a read", () -> isInRead(reader));
    region.close();
    assertFalse(region.isOpen());
    write(pipe);
    assertEquals(1, read.get());
    pd.allocateMemory(64).close();
    assertFalse(memory.scope().isAlive());
  }

  /** Whether a thread is in read(2), where it keeps the memory from being freed. */
  private static boolean isInRead(Thread reader) {
    StackTraceElement[] stack = reader.getStackTrace();
    return stack.length > 0
        && stack[0].isNativeMethod()
        && stack[0].getMethodName().contains("read");
  }

  private static void write(Pipe pipe) {
    try {
      pipe.sink().write(ByteBuffer.allocate(1));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
