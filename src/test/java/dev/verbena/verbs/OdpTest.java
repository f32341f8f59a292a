package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static dev.verbena.testing.DeviceKind.SOFT_ROCE;
import static dev.verbena.testing.Need.LINUX;
import static dev.verbena.testing.Need.ONE_KIND;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.attributes.OdpCapabilities;
import dev.verbena.attributes.OdpOperation;
import dev.verbena.internal.Verbs;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_mr;
import dev.verbena.raw.ibv_mr_init_attr;
import dev.verbena.raw.rdma_h;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.MemoryPages;
import dev.verbena.testing.Needs;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.FlushPlacement;
import dev.verbena.values.MemoryAdvice;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.SendOperation;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.junit.jupiter.api.function.Executable;
import org.opentest4j.TestAbortedException;

/**
 * Memory that is paged in on demand, as rdma-core's test_odp.py uses it. Its pages are dropped
 * before each request, so that the device has to fault them in.
 */
@On(
    value = {SOFTWARE, SOFT_ROCE},
    reason = "the emulated NIC has no on-demand paging")
@Needs(LINUX)
class OdpTest {
  private static final int ROUNDS = 5;
  private static final int SIZE = 1024;
  private static final AccessFlag[] ON_DEMAND = {
    AccessFlag.LOCAL_WRITE,
    AccessFlag.REMOTE_WRITE,
    AccessFlag.REMOTE_READ,
    AccessFlag.REMOTE_ATOMIC,
    AccessFlag.ON_DEMAND
  };

  /** Skips where one of the devices cannot do it, with the reason. */
  private static Pair requires(
      Pair pair, Function<OdpCapabilities, Set<OdpOperation>> of, OdpOperation... operations) {
    for (Pair.Side side : List.of(pair.a, pair.b)) {
      OdpCapabilities capabilities = side.context.deviceAttributes().onDemandPaging();
      if (!of.apply(capabilities).containsAll(List.of(operations))) {
        pair.close();
        throw new TestAbortedException(
            "no on-demand paging for " + List.of(operations) + ": " + capabilities);
      }
    }
    return pair;
  }

  private static Pair rc(OdpOperation... operations) {
    return requires(Pair.connected(QueuePairType.RC), OdpCapabilities::rc, operations);
  }

  private static MemoryRegion paged(Pair.Side side) {
    return side.page(ON_DEMAND).register();
  }

  /** Gives a region's memory other pages, filled with a value. */
  private static void renew(MemoryRegion region, int value) {
    MemoryPages.drop(region.memory());
    region.memory().fill((byte) value);
  }

  private static void assertSame(MemoryRegion from, MemoryRegion to, long offset, long size) {
    MemorySegment sent = from.memory().asSlice(0, size);
    MemorySegment received = to.memory().asSlice(offset, size);
    Await.until("the data of the write", () -> sent.mismatch(received) == -1);
  }

  private static void sendAndReceive(Pair pair, MemoryRegion from, MemoryRegion to) {
    SendList list = new SendList(1, 1);
    list.send(0).local(from, 0, SIZE).signaled();
    for (int i = 1; i <= ROUNDS; i++) {
      renew(from, i);
      MemoryPages.drop(to.memory());
      pair.b.receive(i, to);
      pair.a.run(list);
      pair.b.completion(CompletionStatus.SUCCESS);
      assertSame(from, to, 0, SIZE);
    }
  }

  @DeviceTest
  void carriesMessages() {
    try (Pair pair = rc(OdpOperation.SEND, OdpOperation.RECV)) {
      sendAndReceive(pair, paged(pair.a), paged(pair.b));
    }
  }

  @DeviceTest
  void carriesMessagesOfRegionsMadeByTheExtendedFunction() {
    try (Pair pair = rc(OdpOperation.SEND, OdpOperation.RECV)) {
      MemoryRegion to = Rig.orSkip(() -> pair.b.page(ON_DEMAND).extended().register());
      sendAndReceive(pair, pair.a.page(ON_DEMAND).extended().register(), to);
    }
  }

  @DeviceTest
  void mixesWithPinnedMemory() {
    try (Pair pair = rc(OdpOperation.SEND, OdpOperation.RECV)) {
      MemoryRegion from = paged(pair.a);
      MemoryRegion to = paged(pair.b);
      SendList list = new SendList(1, 2);
      list.send(0).local(from, 0, 8).local(pair.a.memory, 0, 8).signaled();
      ReceiveList receive = new ReceiveList(1, 2);
      receive.local(0, 0, to, 0, 8);
      receive.local(0, 1, pair.b.memory, 0, 8);
      renew(from, 1);
      pair.a.memory.memory().fill((byte) 2);
      MemoryPages.drop(to.memory());
      assertEquals(1, pair.b.queuePair.post(receive));
      pair.a.run(list);
      pair.b.completion(CompletionStatus.SUCCESS);
      assertSame(from, to, 0, 8);
      assertSame(pair.a.memory, pair.b.memory, 0, 8);
    }
  }

  @DeviceTest
  void isWritten() {
    try (Pair pair = rc(OdpOperation.WRITE)) {
      MemoryRegion from = paged(pair.a);
      MemoryRegion to = paged(pair.b);
      SendList list = new SendList(1, 1);
      list.write(0).local(from, 0, SIZE).remote(to.start(), to.rkey()).signaled();
      for (int i = 1; i <= ROUNDS; i++) {
        renew(from, i);
        MemoryPages.drop(to.memory());
        pair.a.run(list);
        assertSame(from, to, 0, SIZE);
      }
    }
  }

  @DeviceTest
  void isRead() {
    try (Pair pair = rc(OdpOperation.READ)) {
      MemoryRegion to = paged(pair.a);
      MemoryRegion from = paged(pair.b);
      SendList list = new SendList(1, 1);
      list.read(0).local(to, 0, SIZE).remote(from.start(), from.rkey()).signaled();
      for (int i = 1; i <= ROUNDS; i++) {
        renew(from, i);
        MemoryPages.drop(to.memory());
        pair.a.run(list);
        assertSame(from, to, 0, SIZE);
      }
    }
  }

  @DeviceTest
  void isSwappedAtomically() {
    try (Pair pair = rc(OdpOperation.ATOMIC)) {
      MemoryRegion result = paged(pair.a);
      MemoryRegion counter = paged(pair.b);
      SendList list = new SendList(1, 1);
      list.compareAndSwap(0, 0, 42)
          .local(result, 0, 8)
          .remote(counter.start(), counter.rkey())
          .signaled();
      MemoryPages.drop(counter.memory());
      MemoryPages.drop(result.memory());
      pair.a.run(list);
      assertEquals(42, counter.memory().get(ValueLayout.JAVA_LONG, 0));
      assertEquals(0, result.memory().get(ValueLayout.JAVA_LONG, 0));
      pair.a.run(list);
      assertEquals(42, result.memory().get(ValueLayout.JAVA_LONG, 0));
    }
  }

  @DeviceTest
  void isAddedToAtomically() {
    try (Pair pair = rc(OdpOperation.ATOMIC)) {
      MemoryRegion result = paged(pair.a);
      MemoryRegion counter = paged(pair.b);
      SendList list = new SendList(1, 1);
      list.fetchAndAdd(0, 5).local(result, 0, 8).remote(counter.start(), counter.rkey()).signaled();
      MemoryPages.drop(counter.memory());
      for (int i = 0; i < ROUNDS; i++) {
        MemoryPages.drop(result.memory());
        pair.a.run(list);
        assertEquals(i * 5L, result.memory().get(ValueLayout.JAVA_LONG, 0));
      }
    }
  }

  @DeviceTest
  void carriesDatagrams() {
    Pair unsure = Pair.inUse(QueuePairType.UD, builder -> builder);
    try (Pair pair = requires(unsure, OdpCapabilities::ud, OdpOperation.SEND)) {
      MemoryRegion from = paged(pair.a);
      QueuePairAddress b = pair.b.queuePair.localAddress();
      SendList list = new SendList(1, 1);
      list.send(0).local(from, 0, SIZE).to(pair.handleToB(), b.number(), b.queueKey()).signaled();
      for (int i = 1; i <= ROUNDS; i++) {
        renew(from, i);
        pair.b.receive(i);
        pair.a.run(list);
        pair.b.completion(CompletionStatus.SUCCESS);
        assertSame(from, pair.b.memory, 40, SIZE);
      }
    }
  }

  @DeviceTest
  void receivesIntoTheQueueOfSeveralQueuePairs() {
    Pair unsure = new Pair();
    try (Pair pair = requires(unsure, OdpCapabilities::rc, OdpOperation.SRQ_RECV)) {
      SharedReceiveQueue srq = SharedReceiveQueue.create(pair.b.domain, 4);
      pair.a.queuePair = pair.a.builder(QueuePairType.RC).create();
      pair.b.queuePair = pair.b.builder(QueuePairType.RC).sharedReceiveQueue(srq).create();
      pair.connect();
      MemoryRegion from = paged(pair.a);
      MemoryRegion to = paged(pair.b);
      ReceiveList receive = new ReceiveList(1, 1);
      receive.local(0, to, 0, SIZE);
      SendList list = new SendList(1, 1);
      list.send(0).local(from, 0, SIZE).signaled();
      for (int i = 1; i <= ROUNDS; i++) {
        renew(from, i);
        MemoryPages.drop(to.memory());
        assertEquals(1, srq.post(receive));
        pair.a.run(list);
        pair.b.completion(CompletionStatus.SUCCESS);
        assertSame(from, to, 0, SIZE);
      }
    }
  }

  @DeviceTest
  void isPrefetched() {
    try (Pair pair = rc(OdpOperation.SEND, OdpOperation.RECV)) {
      MemoryRegion from = paged(pair.a);
      MemoryRegion to = paged(pair.b);
      List<String> advised = new ArrayList<>();
      for (MemoryAdvice advice : MemoryAdvice.values()) {
        for (boolean wait : new boolean[] {true, false}) {
          renew(from, 1);
          renew(to, 2);
          if (wait) {
            from.adviseAndWait(advice, 0, from.length());
            to.adviseAndWait(advice, 0, to.length());
          } else {
            from.advise(advice, 0, from.length());
            to.advise(advice, 0, to.length());
          }
          sendAndReceive(pair, from, to);
          advised.add(advice + " " + wait);
        }
      }
      assertEquals(2 * MemoryAdvice.values().length, advised.size(), advised.toString());
    }
  }

  /** Pages of neither region are registered by themselves. */
  private static void exchange(Pair pair, Arena arena, MemoryRegion a, MemoryRegion b) {
    exchange(pair, arena, a.lkey(), b.lkey());
  }

  private static void exchange(Pair pair, Arena arena, int keyA, int keyB) {
    MemorySegment from = MemoryPages.allocate(arena, 1);
    MemorySegment to = MemoryPages.allocate(arena, 1);
    SendList list = new SendList(1, 1);
    ReceiveList receive = new ReceiveList(1, 1);
    for (int i = 1; i <= ROUNDS; i++) {
      MemoryPages.drop(from);
      from.fill((byte) i);
      MemoryPages.drop(to);
      receive.localUnchecked(0, 0, to.address(), SIZE, keyB);
      assertEquals(1, pair.b.queuePair.post(receive));
      list.send(0).signaled();
      list.localUnchecked(0, 0, from.address(), SIZE, keyA);
      pair.a.run(list);
      assertEquals(SIZE, pair.b.completion(CompletionStatus.SUCCESS).byteLength(0));
      assertEquals(-1, from.asSlice(0, SIZE).mismatch(to.asSlice(0, SIZE)));
    }
  }

  private static final String NO_IMPLICIT = "Soft-RoCE does not register the whole address space";

  private static MemoryRegion everything(Pair.Side side, AccessFlag... access) {
    assertTrue(side.context.deviceAttributes().onDemandPaging().implicit());
    return side.domain.registerAddressSpace(access);
  }

  @DeviceTest
  @Needs(ONE_KIND)
  @On(value = SOFTWARE, reason = NO_IMPLICIT)
  void theWholeAddressSpaceIsOneRegion() {
    try (Pair pair = rc(OdpOperation.SEND, OdpOperation.RECV);
        Arena arena = Arena.ofShared()) {
      MemoryRegion b = everything(pair.b, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      exchange(pair, arena, everything(pair.a), b);
      MemorySegment target = MemoryPages.allocate(arena, 2);
      SendList list = new SendList(1, 1);
      pair.a.memory.memory().fill((byte) 77);
      list.write(0).local(pair.a.memory, 0, SIZE).remote(target.address() + SIZE, b.rkey());
      list.signaled(0);
      pair.a.run(list);
      assertEquals(
          -1, pair.a.memory.memory().asSlice(0, SIZE).mismatch(target.asSlice(SIZE, SIZE)));
      assertEquals(0, target.get(ValueLayout.JAVA_BYTE, SIZE - 1));
      assertEquals(0, target.get(ValueLayout.JAVA_BYTE, 2 * SIZE));
      list.write(0).local(pair.a.memory, 0, SIZE).remote(4096, b.rkey()).signaled();
      pair.a.run(list, CompletionStatus.REM_ACCESS_ERR);
    }
  }

  @DeviceTest
  @Needs(ONE_KIND)
  @On(value = SOFTWARE, reason = NO_IMPLICIT)
  void partsOfTheWholeAddressSpaceArePrefetched() {
    try (Pair pair = rc(OdpOperation.SEND, OdpOperation.RECV);
        Arena arena = Arena.ofShared()) {
      MemoryRegion a = everything(pair.a, AccessFlag.LOCAL_WRITE);
      MemoryRegion b = everything(pair.b, AccessFlag.LOCAL_WRITE);
      MemorySegment page = MemoryPages.allocate(arena, 1);
      for (MemoryAdvice advice : MemoryAdvice.values()) {
        a.adviseAndWait(advice, page.address(), page.byteSize());
        b.advise(advice, page.address(), page.byteSize());
        exchange(pair, arena, a, b);
      }
    }
  }

  @DeviceTest
  @Needs(ONE_KIND)
  @On(value = SOFTWARE, reason = NO_IMPLICIT)
  void theWholeAddressSpaceStartsAtZeroAndIsNotChanged() {
    int access = rdma_h.IBV_ACCESS_LOCAL_WRITE() | rdma_h.IBV_ACCESS_ON_DEMAND();
    try (Context context = Rig.a().open()) {
      ProtectionDomain domain = context.allocateProtectionDomain();
      Verbs verbs = domain.verbs();
      long pd = domain.segment().address();
      assertInvalid(() -> verbs.ibv_reg_mr_iova2(pd, 0, -1, 4096, access));
      long all = domain.registerAddressSpace(AccessFlag.LOCAL_WRITE).segment().address();
      int translation = rdma_h.IBV_REREG_MR_CHANGE_TRANSLATION();
      assertInvalid(() -> verbs.ibv_rereg_mr(all, translation, pd, 0, 4096, access));
      int rights = rdma_h.IBV_REREG_MR_CHANGE_ACCESS();
      assertInvalid(() -> verbs.ibv_rereg_mr(all, rights, pd, 0, 0, access));
      long page = domain.allocateMemory(SIZE).segment().address();
      assertInvalid(() -> verbs.ibv_rereg_mr(page, translation, pd, 0, -1, access));
    }
  }

  private static void assertInvalid(Executable call) {
    assertEquals(Errno.EINVAL, assertThrows(VerbsException.class, call).errno());
  }

  /** {@code registerAddressSpace} calls {@code ibv_reg_mr}. */
  @DeviceTest
  @Needs(ONE_KIND)
  @On(value = SOFTWARE, reason = NO_IMPLICIT)
  void theExtendedFunctionRegistersTheWholeAddressSpace() {
    try (Pair pair = rc(OdpOperation.SEND, OdpOperation.RECV);
        Arena arena = Arena.ofShared()) {
      Verbs verbs = pair.b.domain.verbs();
      MemorySegment attr = ibv_mr_init_attr.allocate(arena);
      ibv_mr_init_attr.length(attr, -1);
      ibv_mr_init_attr.access(
          attr, rdma_h.IBV_ACCESS_LOCAL_WRITE() | rdma_h.IBV_ACCESS_ON_DEMAND());
      ibv_mr_init_attr.comp_mask(attr, rdma_h.IBV_REG_MR_MASK_ADDR());
      long region = verbs.ibv_reg_mr_ex(pair.b.domain.segment().address(), attr.address());
      int key = ibv_mr.lkey(Memory.at(region, ibv_mr.sizeof()));
      exchange(pair, arena, everything(pair.a).lkey(), key);
      verbs.ibv_dereg_mr(region);
    }
  }

  @DeviceTest
  @Needs(ONE_KIND)
  @On(value = SOFTWARE, reason = "Soft-RoCE has no XRC")
  void carriesMessagesOfExtendedReliableConnections() {
    try (Pair pair =
        requires(new Pair(), OdpCapabilities::xrc, OdpOperation.SEND, OdpOperation.SRQ_RECV)) {
      SharedReceiveQueue queue =
          XrcDeviceTest.receiver(pair, pair.b.completionQueue, SendOperation.SEND);
      MemoryRegion from = paged(pair.a);
      MemoryRegion to = paged(pair.b);
      SendList list = new SendList(1, 1);
      list.send(0).local(from, 0, SIZE).sharedReceiveQueue(queue.number()).signaled();
      for (int i = 1; i <= ROUNDS; i++) {
        renew(from, i);
        MemoryPages.drop(to.memory());
        XrcDeviceTest.receive(queue, i, to);
        pair.a.run(list);
        assertEquals(i, pair.b.completion(CompletionStatus.SUCCESS).id(0));
        assertSame(from, to, 0, SIZE);
      }
    }
  }

  private static Pair built(OdpOperation operation, SendOperation... operations) {
    Pair pair = requires(new Pair(), OdpCapabilities::rc, operation);
    for (Pair.Side side : List.of(pair.a, pair.b)) {
      side.queuePair = side.builder(QueuePairType.RC).sendOperations(operations).create();
      side.queuePair
          .setup()
          .access(AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC, AccessFlag.FLUSH_GLOBAL);
    }
    pair.connect();
    return pair;
  }

  @DeviceTest
  void isWrittenAtomically() {
    try (Pair pair = built(OdpOperation.ATOMIC_WRITE, SendOperation.ATOMIC_WRITE)) {
      MemoryRegion to = paged(pair.b);
      for (int i = 1; i <= ROUNDS; i++) {
        MemoryPages.drop(to.memory());
        Posting posting = pair.a.queuePair.startPosting();
        posting.atomicWrite(to.start(), to.rkey(), i).signaled();
        assertEquals(1, posting.complete());
        pair.a.completion(CompletionStatus.SUCCESS);
        assertEquals(i, to.memory().get(ValueLayout.JAVA_LONG, 0));
      }
    }
  }

  @DeviceTest
  @Needs(ONE_KIND)
  void isFlushed() {
    flush(side -> side.page(flushable()).register());
  }

  @DeviceTest
  @Needs(ONE_KIND)
  void isFlushedInRegionsMadeByTheExtendedFunction() {
    flush(side -> side.page(flushable()).extended().register());
  }

  private static AccessFlag[] flushable() {
    return new AccessFlag[] {
      AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.FLUSH_GLOBAL, AccessFlag.ON_DEMAND
    };
  }

  private static void flush(Function<Pair.Side, MemoryRegion> registration) {
    try (Pair pair = built(OdpOperation.FLUSH, SendOperation.FLUSH, SendOperation.RDMA_WRITE)) {
      MemoryRegion to = registration.apply(pair.b);
      Set<FlushPlacement> global = Collections.singleton(FlushPlacement.GLOBAL);
      for (boolean whole : new boolean[] {false, true}) {
        pair.a.memory.memory().fill((byte) 6);
        MemoryPages.drop(to.memory());
        Posting posting = pair.a.queuePair.startPosting();
        posting.write(to.start(), to.rkey()).local(pair.a.memory, 0, SIZE);
        if (whole) {
          posting.flushRegion(to.rkey(), global).signaled();
        } else {
          posting.flush(to.start(), to.rkey(), SIZE, global).signaled();
        }
        assertEquals(2, posting.complete());
        pair.a.completion(CompletionStatus.SUCCESS);
        assertSame(pair.a.memory, to, 0, SIZE);
      }
    }
  }
}
