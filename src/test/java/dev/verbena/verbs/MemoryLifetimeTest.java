package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.cm.RemoteMemory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** How long memory lives that a device may write to. */
class MemoryLifetimeTest extends FakeDeviceFixture {
  private final AtomicReference<MemorySegment> deregistering = new AtomicReference<>();
  private boolean aliveAtDeregistration;
  private boolean refuses;

  public long ibv_reg_mr(long pd, long address, long length, int access) {
    arguments = new long[] {address, length, access};
    return region(pd, length);
  }

  public void ibv_dereg_mr(long mr) {
    MemorySegment memory = deregistering.get();
    aliveAtDeregistration = memory == null || memory.scope().isAlive();
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

  private static void awaitFreed(AtomicBoolean freed) throws InterruptedException {
    while (!freed.get()) {
      System.gc();
      Thread.sleep(5);
    }
  }

  @Test
  void unreachableRegionKeepsItsMemory() throws InterruptedException {
    AtomicBoolean freed = new AtomicBoolean();
    WeakReference<Context> forgotten = forget(freed);
    while (forgotten.get() != null) {
      collect();
    }
    AtomicBoolean other = new AtomicBoolean();
    automatic(other);
    awaitFreed(other); // What could be freed before this is freed.
    assertFalse(freed.get(), "the device may still write to it");
  }

  /** Nothing refers to the Java objects any more; what C has is given back another way. */
  private WeakReference<Context> forget(AtomicBoolean freed) {
    Context lost = Context.borrow(provider, context.segment());
    ProtectionDomain domain = ProtectionDomain.of(lost, lost, pd.segment());
    domain.registerMemory(automatic(freed), AccessFlag.LOCAL_WRITE);
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
    region.reregister(arena.allocate(8));
    awaitFreed(replaced);
  }

  public int ibv_rereg_mr(long mr, int flags, long pd, long address, long length, int access) {
    return 0;
  }

  @Test
  void arenaDoesNotKeepAnUnreachableContext() {
    WeakReference<Context> forgotten = forgetWithArena();
    while (forgotten.get() != null) {
      collect();
    }
  }

  private WeakReference<Context> forgetWithArena() {
    Context lost = Context.borrow(provider, context.segment());
    ProtectionDomain domain = ProtectionDomain.of(lost, lost, pd.segment());
    Arena memory = Arena.ofShared();
    domain.memory(memory.allocate(64)).closedWith(memory).register();
    gone();
    return new WeakReference<>(lost);
  }

  @Test
  void arenaThatIsNeverClosedThrows() {
    for (Arena endless : new Arena[] {Arena.ofAuto(), Arena.global()}) {
      MemoryRegistration registration = pd.memory(endless.allocate(64));
      var thrown =
          assertThrows(IllegalArgumentException.class, () -> registration.closedWith(endless));
      assertTrue(thrown.getMessage().contains("allocateMemory"), thrown.getMessage());
    }
  }

  /** In JDK 25, a confined arena frees what it allocated first before anything else happens. */
  @Test
  void confinedArenaThrows() {
    try (Arena confined = Arena.ofConfined()) {
      MemoryRegistration registration = pd.memory(confined.allocate(64));
      var thrown =
          assertThrows(IllegalArgumentException.class, () -> registration.closedWith(confined));
      assertTrue(thrown.getMessage().contains("Arena.ofShared()"), thrown.getMessage());
    }
  }

  @Test
  void memoryOfAnArenaStaysAllocatedIfItsRegionCannotBeClosed() {
    AtomicBoolean freed = new AtomicBoolean();
    Arena shared = Arena.ofShared();
    MemorySegment memory =
        MemorySegment.ofAddress(0x1000).reinterpret(64, shared, segment -> freed.set(true));
    MemoryRegion region = pd.memory(memory).closedWith(shared).register();
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
    while (!isInRead(reader)) {
      Thread.sleep(1);
    }
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
