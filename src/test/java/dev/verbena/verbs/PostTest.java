package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.address.AddressVector;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_mw_bind_info;
import dev.verbena.raw.ibv_pd;
import dev.verbena.raw.ibv_recv_wr;
import dev.verbena.raw.ibv_send_wr;
import dev.verbena.raw.ibv_sge;
import dev.verbena.raw.rdma_h;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.MemoryWindowType;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.WorkRequestOpcode;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Lists of requests, posted through C's function pointers. */
class PostTest {
  private final Arena arena = Arena.ofShared();
  private final RecordingDevice device = new RecordingDevice();
  private final ProtectionDomain domain = device.context.allocateProtectionDomain();
  private final CompletionQueue completions = device.context.createCompletionQueue(16);
  private final MemorySegment buffer = arena.allocate(4096, 8);
  private final MemoryRegion region =
      domain.registerMemory(
          buffer, AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND, AccessFlag.REMOTE_WRITE);
  private final QueuePair rc = queuePair(QueuePairType.RC);

  private QueuePair queuePair(QueuePairType type) {
    return QueuePair.builder(domain, type)
        .completions(completions)
        .capacity(QueuePairCapacity.of(8).withSendSges(2).withReceiveSges(2).withMaxInlineData(64))
        .create();
  }

  @AfterEach
  void close() {
    device.close();
    arena.close();
  }

  private static MemorySegment entry(MemorySegment list, int index) {
    return Memory.at(list.address() + index * ibv_sge.sizeof(), ibv_sge.sizeof());
  }

  private static <T extends Throwable> String message(Class<T> type, Executable executable) {
    return assertThrows(type, executable).getMessage();
  }

  @Test
  void postedSendHasItsFields() {
    SendList sends = new SendList(2, 2);
    sends.send(0).id(7).local(region, 16, 32).local(region, 64, 8).signaled().solicited().fenced();
    sends.sendWithImmediate(1, 0x01020304).checksum();
    assertEquals(2, rc.post(sends));

    MemorySegment first = device.send(0);
    assertEquals(7, ibv_send_wr.wr_id(first));
    assertEquals(rdma_h.IBV_WR_SEND(), ibv_send_wr.opcode(first));
    assertEquals(2, ibv_send_wr.num_sge(first));
    assertEquals(
        rdma_h.IBV_SEND_SIGNALED() | rdma_h.IBV_SEND_SOLICITED() | rdma_h.IBV_SEND_FENCE(),
        ibv_send_wr.send_flags(first));
    MemorySegment entry = entry(ibv_send_wr.sg_list(first), 0);
    assertEquals(buffer.address() + 16, ibv_sge.addr(entry));
    assertEquals(32, ibv_sge.length(entry));
    assertEquals(region.lkey(), ibv_sge.lkey(entry));
    assertEquals(buffer.address() + 64, ibv_sge.addr(entry(ibv_send_wr.sg_list(first), 1)));

    MemorySegment second = device.send(1);
    assertEquals(0, ibv_send_wr.num_sge(second));
    assertEquals(rdma_h.IBV_SEND_IP_CSUM(), ibv_send_wr.send_flags(second));
    assertEquals(0x01020304, Integer.reverseBytes(ibv_send_wr.imm_data(second)));
  }

  @Test
  void everyOperationHasItsFields() {
    SendList sends = new SendList(7, 1);
    sends.write(0).local(region, 0, 8).remote(0x1000, 5);
    sends.writeWithImmediate(1, 9).local(region, 0, 8).remote(0x1001, 6);
    sends.read(2).local(region, 0, 8).remote(0x1002, 7);
    sends.compareAndSwap(3, 11, 12).local(region, 0, 8).remote(0x1008, 8);
    sends.fetchAndAdd(4, 13).local(region, 0, 8).remote(0x1010, 9);
    sends.sendWithInvalidate(5, 14);
    sends.localInvalidate(6, 15);
    assertEquals(7, rc.post(sends));

    int[] opcodes = {
      rdma_h.IBV_WR_RDMA_WRITE(),
      rdma_h.IBV_WR_RDMA_WRITE_WITH_IMM(),
      rdma_h.IBV_WR_RDMA_READ(),
      rdma_h.IBV_WR_ATOMIC_CMP_AND_SWP(),
      rdma_h.IBV_WR_ATOMIC_FETCH_AND_ADD(),
      rdma_h.IBV_WR_SEND_WITH_INV(),
      rdma_h.IBV_WR_LOCAL_INV()
    };
    for (int i = 0; i < opcodes.length; i++) {
      assertEquals(opcodes[i], ibv_send_wr.opcode(device.send(i)));
    }
    for (int i = 0; i < 3; i++) {
      MemorySegment rdma = ibv_send_wr.wr.rdma(ibv_send_wr.wr(device.send(i)));
      assertEquals(0x1000 + i, ibv_send_wr.wr.rdma.remote_addr(rdma));
      assertEquals(5 + i, ibv_send_wr.wr.rdma.rkey(rdma));
    }
    assertEquals(9, Integer.reverseBytes(ibv_send_wr.imm_data(device.send(1))));
    MemorySegment swap = ibv_send_wr.wr.atomic(ibv_send_wr.wr(device.send(3)));
    assertEquals(0x1008, ibv_send_wr.wr.atomic.remote_addr(swap));
    assertEquals(11, ibv_send_wr.wr.atomic.compare_add(swap));
    assertEquals(12, ibv_send_wr.wr.atomic.swap(swap));
    assertEquals(8, ibv_send_wr.wr.atomic.rkey(swap));
    MemorySegment add = ibv_send_wr.wr.atomic(ibv_send_wr.wr(device.send(4)));
    assertEquals(13, ibv_send_wr.wr.atomic.compare_add(add));
    assertEquals(14, ibv_send_wr.invalidate_rkey(device.send(5)));
    assertEquals(15, ibv_send_wr.invalidate_rkey(device.send(6)));
  }

  @Test
  void staleFieldsAreCleared() {
    SendList sends = new SendList(1, 1);
    sends.compareAndSwap(0, -1, -1).id(5).local(region, 0, 8).remote(-8, -1).signaled();
    sends.send(0);
    assertEquals(sends.size(), rc.post(sends));
    MemorySegment wr = device.send(0);
    for (long at = ibv_send_wr.send_flags$offset(); at < ibv_send_wr.sizeof(); at += 4) {
      assertEquals(0, wr.get(ValueLayout.JAVA_INT, at), "at " + at);
    }
    assertEquals(0, ibv_send_wr.wr_id(wr));
    assertEquals(0, ibv_send_wr.num_sge(wr));
  }

  @Test
  void aMemoryWindowIsBoundByARequest() {
    MemoryWindow window = MemoryWindow.allocate(domain, MemoryWindowType.TYPE_2);
    SendList sends = new SendList(1, 0);
    WindowBinding binding = new WindowBinding(region, 64, 128, Set.of(AccessFlag.REMOTE_WRITE));
    sends.bindMemoryWindow(0, window, 0x123, binding);
    assertEquals(1, rc.post(sends));
    MemorySegment bind = ibv_send_wr.bind_mw(device.send(0));
    assertEquals(window.segment().address(), ibv_send_wr.bind_mw.mw(bind).address());
    assertEquals(0x123, ibv_send_wr.bind_mw.rkey(bind));
    MemorySegment info = ibv_send_wr.bind_mw.bind_info(bind);
    assertEquals(region.segment().address(), ibv_mw_bind_info.mr(info).address());
    assertEquals(buffer.address() + 64, ibv_mw_bind_info.addr(info));
    assertEquals(128, ibv_mw_bind_info.length(info));

    window.close();
    assertTrue(message(IllegalStateException.class, () -> rc.post(sends)).contains("closed"));
  }

  @Test
  void inlineDataLiesInTheListItself() {
    SendList sends = new SendList(1, 1, 16);
    MemorySegment heap = MemorySegment.ofArray(new byte[] {1, 2, 3});
    sends.send(0).inline(heap);
    assertEquals(sends.size(), rc.post(sends));
    MemorySegment wr = device.send(0);
    assertEquals(rdma_h.IBV_SEND_INLINE(), ibv_send_wr.send_flags(wr));
    MemorySegment entry = entry(ibv_send_wr.sg_list(wr), 0);
    assertEquals(sends.inlineData(0).address(), ibv_sge.addr(entry));
    assertEquals(3, ibv_sge.length(entry));
    assertEquals(2, sends.inlineData(0).get(ValueLayout.JAVA_BYTE, 1));

    sends.inlineLength(0, 16);
    assertEquals(sends.size(), rc.post(sends));
    assertEquals(16, ibv_sge.length(entry));
    assertThrows(IllegalArgumentException.class, () -> sends.inlineLength(0, 17));
    assertThrows(IllegalArgumentException.class, () -> sends.inlineLength(0, -1));
    assertThrows(IllegalArgumentException.class, () -> sends.local(0, region, 0, 8));
    assertThrows(IllegalArgumentException.class, () -> new SendList(1, 1).inlineData(0));
    assertThrows(IllegalArgumentException.class, () -> sends.read(0).inline(1));
    assertThrows(IllegalStateException.class, () -> sends.send(0).local(region, 0, 8).inline(1));
    assertThrows(IllegalArgumentException.class, () -> new SendList(1, 0, 8));
    assertThrows(IllegalArgumentException.class, () -> new SendList(1, 1, -1));
  }

  @Test
  void tooMuchInlineDataThrows() {
    SendList sends = new SendList(1, 1, 128);
    sends.send(0).inline(64);
    assertEquals(1, rc.post(sends));
    sends.inlineLength(0, 65);
    String message = message(IllegalArgumentException.class, () -> rc.post(sends));
    assertTrue(
        message.contains("65 bytes of inline data") && message.contains("allows 64"), message);
    assertEquals(1, device.sent);
  }

  /** Without room for inline data there may be no room for its SGE either. */
  @Test
  void emptyInlineDataNeedsAListWithInlineData() {
    for (int sges : new int[] {0, 1}) {
      SendList list = new SendList(1, sges);
      assertThrows(IllegalArgumentException.class, () -> list.send(0).inline(0));
      MemorySegment empty = MemorySegment.ofArray(new byte[0]);
      assertThrows(IllegalArgumentException.class, () -> list.send(0).inline(empty));
    }
  }

  @Test
  void tsoTakesItsHeaderFromTheList() {
    QueuePair raw = queuePair(QueuePairType.RAW_PACKET);
    SendList sends = new SendList(1, 1, 64);
    sends.tso(0, buffer.asSlice(0, 54), 1460).local(region, 0, 4096);
    assertEquals(1, raw.post(sends));
    MemorySegment tso = ibv_send_wr.tso(device.send(0));
    assertEquals(sends.inlineData(0).address(), ibv_send_wr.tso.hdr(tso).address());
    assertEquals(54, ibv_send_wr.tso.hdr_sz(tso));
    assertEquals(1460, ibv_send_wr.tso.mss(tso));
    assertThrows(IllegalArgumentException.class, () -> sends.tso(0, buffer, 1460));
    assertThrows(IllegalArgumentException.class, () -> sends.tso(0, buffer.asSlice(0, 8), 0));
    assertThrows(IllegalArgumentException.class, () -> rc.post(sends));
  }

  @Test
  void partsOfAListArePostedInAnyOrder() {
    SendList sends = new SendList(5, 0);
    for (int i = 0; i < 5; i++) {
      sends.send(i).id(i);
    }
    int[][] ranges = {{0, 5}, {1, 2}, {3, 2}, {0, 1}, {4, 1}, {0, 5}};
    for (int[] range : ranges) {
      int before = device.sent;
      assertEquals(range[1], rc.post(sends, range[0], range[1]));
      assertEquals(before + range[1], device.sent);
      for (int i = 0; i < range[1]; i++) {
        assertEquals(range[0] + i, ibv_send_wr.wr_id(device.send(before + i)));
      }
    }
    int before = device.sent;
    assertEquals(0, rc.post(sends, 2, 0));
    assertEquals(before, device.sent);
  }

  @Test
  void postReturnsTheNumberPostedOnFullQueue() {
    SendList sends = new SendList(4, 0);
    for (int i = 0; i < 4; i++) {
      sends.send(i).id(i);
    }
    device.room = 3;
    assertEquals(3, rc.post(sends));
    assertEquals(0, rc.post(sends, 3, 1));
    device.room = 1;
    assertEquals(1, rc.post(sends, 3, 1));
    assertEquals(3, ibv_send_wr.wr_id(device.send(3)));
    device.room = 0;
    device.refusal = -Errno.ENOMEM; // As some providers say it.
    assertEquals(0, rc.post(sends));
  }

  @Test
  void failedPostNamesTheRequest() {
    SendList sends = new SendList(4, 0);
    for (int i = 0; i < 4; i++) {
      sends.send(i);
    }
    assertEquals(-1, sends.badRequest());
    device.room = 2;
    device.refusal = Errno.EINVAL;
    VerbsException e = assertThrows(VerbsException.class, () -> rc.post(sends, 1, 3));
    assertEquals("ibv_post_send", e.function());
    assertEquals(Errno.EINVAL, e.errno());
    assertTrue(e.getMessage().contains("send request 3 (SEND)"), e.getMessage());
    assertTrue(e.getMessage().contains("the 2 requests before it were posted"), e.getMessage());
    assertEquals(3, sends.badRequest());

    device.namesRefused = false;
    e = assertThrows(VerbsException.class, () -> rc.post(sends));
    assertTrue(e.getMessage().contains("bad_wr does not tell which"), e.getMessage());
    assertEquals(-1, sends.badRequest());
  }

  @ParameterizedTest
  @EnumSource(
      value = QueuePairState.class,
      names = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"})
  void sendBeforeRtsThrows(QueuePairState state) {
    SendList sends = new SendList(2, 0);
    sends.send(0);
    sends.send(1);
    device.room = 0;
    device.state(rc, state);
    if (state.compareTo(QueuePairState.RTS) >= 0) {
      assertEquals(0, rc.post(sends));
      return;
    }
    String message = message(IllegalStateException.class, () -> rc.post(sends, 1, 1));
    assertTrue(message.contains("in state " + state), message);
    assertTrue(message.contains("ibv_post_send: ENOMEM"), message);
    assertEquals(1, sends.badRequest());
    device.refusal = Errno.EINVAL;
    device.namesRefused = false; // As librxe.
    assertThrows(IllegalStateException.class, () -> rc.post(sends));
    assertEquals(-1, sends.badRequest());
  }

  @Test
  void receiveBeforeInitThrows() {
    ReceiveList receives = new ReceiveList(1, 0);
    device.room = 0;
    device.refusal = Errno.EINVAL;
    device.state(rc, QueuePairState.RESET);
    String message = message(IllegalStateException.class, () -> rc.post(receives));
    assertTrue(message.contains("in state RESET"), message);
    device.state(rc, QueuePairState.INIT);
    assertThrows(VerbsException.class, () -> rc.post(receives));
  }

  @Test
  void entriesAreCheckedAgainstTheirRegion() {
    SendList sends = new SendList(2, 1);
    sends.send(0);
    assertThrows(IndexOutOfBoundsException.class, () -> sends.local(0, region, 4090, 8));
    assertThrows(IndexOutOfBoundsException.class, () -> sends.local(0, region, -1, 8));
    assertThrows(IndexOutOfBoundsException.class, () -> sends.local(0, region, 0, -1));
    assertThrows(IndexOutOfBoundsException.class, () -> sends.local(0, region, Long.MAX_VALUE, 8));
    sends.local(0, region, 4088, 8);
    assertThrows(IndexOutOfBoundsException.class, () -> sends.local(0, 1, region, 0, 8));
    assertThrows(IndexOutOfBoundsException.class, () -> sends.local(0, 2, region, 0, 8));
    assertThrows(IndexOutOfBoundsException.class, () -> sends.local(0, -1, region, 0, 8));
    assertThrows(IndexOutOfBoundsException.class, () -> sends.local(2, region, 0, 8));
    assertThrows(IndexOutOfBoundsException.class, () -> sends.local(-1, region, 0, 8));
    assertThrows(NullPointerException.class, () -> sends.local(0, null, 0, 8));
    assertThrows(IndexOutOfBoundsException.class, () -> sends.id(2, 0));
    assertThrows(IndexOutOfBoundsException.class, () -> sends.send(2));
    assertThrows(IndexOutOfBoundsException.class, () -> sends.opcode(-1));
  }

  @Test
  void uncheckedSgeIsNotValidated() {
    SendList sends = new SendList(1, 1);
    sends.send(0);
    sends.localUnchecked(0, 0, 0x1234, 5, 6);
    assertEquals(sends.size(), rc.post(sends));
    MemorySegment entry = entry(ibv_send_wr.sg_list(device.send(0)), 0);
    assertEquals(0x1234, ibv_sge.addr(entry));
    assertEquals(5, ibv_sge.length(entry));
    assertEquals(6, ibv_sge.lkey(entry));
  }

  @Test
  void settersThatDoNotFitTheOperationThrow() {
    SendList sends = new SendList(2, 1);
    sends.send(0);
    assertThrows(IllegalArgumentException.class, () -> sends.remote(0, 0, 0));
    assertThrows(IllegalArgumentException.class, () -> sends.immediate(0, 0));
    assertThrows(IllegalArgumentException.class, () -> sends.invalidated(0, 0));
    assertThrows(IllegalArgumentException.class, () -> sends.operand(0, 0));
    assertThrows(IllegalArgumentException.class, () -> sends.operands(0, 0, 0));
    assertThrows(IllegalArgumentException.class, () -> sends.inlineLength(0, 0));
    assertThrows(IllegalArgumentException.class, () -> sends.compareAndSwap(0, 0, 0).remote(4, 0));
    assertThrows(
        IllegalArgumentException.class, () -> sends.localInvalidate(0, 1).local(region, 0, 8));
    assertThrows(IllegalStateException.class, () -> sends.local(1, region, 0, 8));
    assertThrows(IllegalStateException.class, () -> sends.immediate(1, 0));
    assertThrows(IllegalArgumentException.class, () -> new SendList(0, 1));
    assertThrows(IllegalArgumentException.class, () -> new SendList(1, -1));
  }

  @Test
  void requestsBeyondTheCapacityThrow() {
    SendList sends = new SendList(2, 3);
    sends.send(0).local(region, 0, 8).local(region, 0, 8).local(region, 0, 8);
    assertTrue(
        message(IllegalArgumentException.class, () -> rc.post(sends, 0, 1)).contains("3 SGEs"));
    assertThrows(IllegalStateException.class, () -> rc.post(sends, 1, 1)); // not formatted
    assertThrows(IndexOutOfBoundsException.class, () -> rc.post(sends, 1, 2));
    assertThrows(IndexOutOfBoundsException.class, () -> rc.post(sends, -1, 1));
    assertThrows(IndexOutOfBoundsException.class, () -> rc.post(sends, 0, -1));
    assertThrows(IndexOutOfBoundsException.class, () -> rc.post(sends, 1, Integer.MAX_VALUE));
    sends.read(0).remote(0, 0);
    assertThrows(
        IllegalArgumentException.class, () -> queuePair(QueuePairType.UC).post(sends, 0, 1));
    assertEquals(0, device.sent);
  }

  @Test
  void datagramsNeedAnAddressHandle() {
    QueuePair ud = queuePair(QueuePairType.UD);
    SendList sends = new SendList(1, 1);
    sends.send(0).local(region, 0, 8);
    assertTrue(
        message(IllegalArgumentException.class, () -> ud.post(sends)).contains("address handle"));
    AddressHandle handle = domain.createAddressHandle(AddressVector.local(1, 1));
    sends.to(0, handle, 0x11, 0x22);
    assertEquals(1, ud.post(sends));
    MemorySegment to = ibv_send_wr.wr.ud(ibv_send_wr.wr(device.send(0)));
    assertEquals(handle.segment().address(), ibv_send_wr.wr.ud.ah(to).address());
    assertEquals(0x11, ibv_send_wr.wr.ud.remote_qpn(to));
    assertEquals(0x22, ibv_send_wr.wr.ud.remote_qkey(to));
    SendList writes = new SendList(1, 1);
    writes.write(0).local(region, 0, 8).to(handle, 1, 2);
    assertTrue(
        message(IllegalArgumentException.class, () -> rc.post(writes))
            .contains("only SRD queue pairs use for RDMA"));
    assertThrows(IllegalArgumentException.class, () -> writes.fetchAndAdd(0, 1).to(handle, 1, 2));
    handle.close();
    assertTrue(message(IllegalStateException.class, () -> ud.post(sends)).contains("is closed"));
    assertThrows(IllegalStateException.class, () -> sends.to(0, handle, 1, 2));
  }

  @Test
  void closedObjectsThrow() {
    SendList sends = new SendList(1, 1);
    MemoryRegion other = domain.registerMemory(arena.allocate(64), AccessFlag.LOCAL_WRITE);
    sends.send(0).local(other, 0, 8);
    assertEquals(1, rc.post(sends));
    other.close();
    assertTrue(message(IllegalStateException.class, () -> rc.post(sends)).contains("is closed"));
    assertThrows(IllegalStateException.class, () -> sends.local(0, other, 0, 8));
    sends.local(0, region, 0, 8);
    assertEquals(1, rc.post(sends));
    rc.close();
    assertTrue(message(IllegalStateException.class, () -> rc.post(sends)).contains("is closed"));
    assertEquals(2, device.sent);
  }

  @Test
  void regionsOfAnotherDomainThrow() {
    ProtectionDomain stranger = device.context.allocateProtectionDomain();
    MemoryRegion other = stranger.registerMemory(arena.allocate(64), AccessFlag.LOCAL_WRITE);
    SendList sends = new SendList(1, 1);
    sends.send(0).local(region, 0, 8);
    assertEquals(1, rc.post(sends));
    sends.local(0, other, 0, 8);
    assertTrue(message(IllegalArgumentException.class, () -> rc.post(sends)).contains("another"));
    assertEquals(1, device.sent);
  }

  @Test
  void addressHandlesAndWindowsOfAnotherDomainThrow() {
    ProtectionDomain stranger = device.context.allocateProtectionDomain();
    AddressHandle handle = stranger.createAddressHandle(AddressVector.local(1, 1));
    MemoryWindow window = MemoryWindow.allocate(stranger, MemoryWindowType.TYPE_2);
    MemoryWindow own = MemoryWindow.allocate(domain, MemoryWindowType.TYPE_2);
    MemoryRegion foreign =
        stranger.registerMemory(buffer, AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND);
    QueuePair ud = queuePair(QueuePairType.UD);
    SendList sends = new SendList(1, 1);
    sends.send(0).local(region, 0, 8).to(handle, 1, 2);
    assertTrue(message(IllegalArgumentException.class, () -> ud.post(sends)).contains("another"));
    sends.bindMemoryWindow(0, window, 1, new WindowBinding(region, 0, 8, Set.of()));
    assertTrue(message(IllegalArgumentException.class, () -> rc.post(sends)).contains("another"));
    sends.bindMemoryWindow(0, own, 1, new WindowBinding(foreign, 0, 8, Set.of()));
    assertTrue(message(IllegalArgumentException.class, () -> rc.post(sends)).contains("another"));
    sends.bindMemoryWindow(0, own, 1, new WindowBinding(region, 0, 8, Set.of()));
    assertEquals(1, rc.post(sends));
    assertEquals(1, device.sent);
  }

  @Test
  void aDomainThatIsBorrowedTwiceIsOne() {
    ProtectionDomain again =
        ProtectionDomain.borrow(
            device.context, Memory.at(domain.segment().address(), ibv_pd.sizeof()));
    SendList sends = new SendList(1, 1);
    sends.send(0).local(again.registerMemory(buffer, AccessFlag.LOCAL_WRITE), 0, 8);
    assertEquals(1, rc.post(sends));
  }

  @ParameterizedTest
  @EnumSource(Receiver.class)
  void objectsOfAParentDomainAcceptRegionsOfItsBase(Receiver receiver) {
    ParentDomain parent = ParentDomain.builder(domain).create();
    ReceiveQueue queue = receiver.on(parent, completions);
    ReceiveList receives = new ReceiveList(3, 1);
    receives.local(0, region, 0, 8);
    receives.local(1, parent.registerMemory(buffer, AccessFlag.LOCAL_WRITE), 0, 8);
    ProtectionDomain stranger = device.context.allocateProtectionDomain();
    receives.local(2, stranger.registerMemory(buffer, AccessFlag.LOCAL_WRITE), 0, 8);
    assertEquals(2, queue.post(receives, 0, 2));
    assertEquals(2, device.received);
    assertThrows(IllegalArgumentException.class, () -> queue.post(receives, 2, 1));
  }

  /** Everything that receives are posted to. */
  enum Receiver {
    QUEUE_PAIR {
      @Override
      ReceiveQueue on(ProtectionDomain domain, CompletionQueue completions) {
        return QueuePair.builder(domain, QueuePairType.RC).completions(completions).create();
      }
    },
    SHARED_RECEIVE_QUEUE {
      @Override
      ReceiveQueue on(ProtectionDomain domain, CompletionQueue completions) {
        return SharedReceiveQueue.create(domain, 8);
      }
    },
    WORK_QUEUE {
      @Override
      ReceiveQueue on(ProtectionDomain domain, CompletionQueue completions) {
        return WorkQueue.builder(domain).completions(completions).create();
      }
    };

    abstract ReceiveQueue on(ProtectionDomain domain, CompletionQueue completions);
  }

  @Test
  @SuppressWarnings("try") // The arena is closed too early, which is the point.
  void theMemoryOfARegionMustStillBeThere() {
    Arena gone = Arena.ofConfined();
    MemoryRegion other = domain.registerMemory(gone.allocate(64), AccessFlag.LOCAL_WRITE);
    gone.close();
    SendRequest send = new SendList(1, 1).send(0);
    assertThrows(IllegalStateException.class, () -> send.local(other, 0, 8));
  }

  @Test
  void postedReceiveHasItsFields() {
    ReceiveList receives = new ReceiveList(2, 2);
    receives.id(0, 3);
    receives.local(0, region, 0, 64);
    receives.local(0, 1, region, 64, 64);
    assertEquals(2, rc.post(receives));
    MemorySegment wr = device.receive(0);
    assertEquals(3, ibv_recv_wr.wr_id(wr));
    assertEquals(2, ibv_recv_wr.num_sge(wr));
    assertEquals(buffer.address() + 64, ibv_sge.addr(entry(ibv_recv_wr.sg_list(wr), 1)));
    assertEquals(0, ibv_recv_wr.num_sge(device.receive(1)));
    receives.clear(0);
    assertEquals(1, rc.post(receives, 0, 1));
    assertEquals(0, ibv_recv_wr.num_sge(device.receive(2)));
    device.room = 0;
    assertEquals(0, rc.post(receives));
    device.refusal = Errno.EINVAL;
    VerbsException e = assertThrows(VerbsException.class, () -> rc.post(receives));
    assertEquals("ibv_post_recv", e.function());
    assertTrue(e.getMessage().contains("receive request 0"), e.getMessage());
  }

  @Test
  void receivesOfAQueuePairWithASharedQueueThrow() {
    SharedReceiveQueue shared = SharedReceiveQueue.create(domain, 8);
    QueuePair pair =
        QueuePair.builder(domain, QueuePairType.RC)
            .completions(completions)
            .sharedReceiveQueue(shared)
            .create();
    ReceiveList receives = new ReceiveList(1, 2);
    assertThrows(IllegalStateException.class, () -> pair.post(receives));
    assertEquals(1, shared.post(receives));
    assertEquals(1, device.received);
    receives.local(0, region, 0, 8);
    receives.local(0, 1, region, 0, 8);
    assertThrows(IllegalArgumentException.class, () -> shared.post(receives));
    shared.close();
    assertThrows(IllegalStateException.class, () -> shared.post(new ReceiveList(1, 0)));
  }

  @Test
  void operationsPerTypeAreThoseOfTheManual() {
    assertTrue(WorkRequestOpcode.SEND.isFor(QueuePairType.RAW_PACKET));
    assertTrue(WorkRequestOpcode.RDMA_WRITE.isFor(QueuePairType.UC));
    for (WorkRequestOpcode opcode : WorkRequestOpcode.values()) {
      boolean reads =
          opcode == WorkRequestOpcode.RDMA_READ
              || opcode == WorkRequestOpcode.ATOMIC_CMP_AND_SWP
              || opcode == WorkRequestOpcode.ATOMIC_FETCH_AND_ADD;
      assertTrue(!reads || !opcode.isFor(QueuePairType.UC), opcode.toString());
      boolean datagram =
          opcode == WorkRequestOpcode.SEND
              || opcode == WorkRequestOpcode.SEND_WITH_IMM
              || opcode == WorkRequestOpcode.TSO;
      assertEquals(datagram, opcode.isFor(QueuePairType.UD), opcode.toString());
      assertTrue(!opcode.isFor(QueuePairType.XRC_RECV), opcode.toString());
    }
  }
}
