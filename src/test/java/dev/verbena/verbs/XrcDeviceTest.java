package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static dev.verbena.testing.Need.DESCRIPTORS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionField;
import dev.verbena.values.CompletionFlag;
import dev.verbena.values.CompletionOpcode;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.SendOperation;
import dev.verbena.values.XrcDomainFlag;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Extended reliable connections, with a sender and a receiver. */
@On(
    value = {SOFTWARE, MLX5},
    reason = "Soft-RoCE has no XRC")
class XrcDeviceTest {
  /** Closing what {@code ibv_open_qp} returned crashes in {@code mlx5_free_db} of libmlx5. */
  private static final List<Context> NEVER_CLOSED = new ArrayList<>();

  @DeviceTest
  void messagesGoToTheSharedReceiveQueueThatTheyName() {
    try (Pair pair = new Pair()) {
      XrcDomain domain = Rig.orSkip(() -> XrcDomain.open(pair.b.context));
      CompletionQueue first = pair.b.context.createCompletionQueue(8);
      CompletionQueue second = pair.b.context.createCompletionQueue(8);
      SharedReceiveQueue one =
          SharedReceiveQueue.builder(pair.b.domain, 4).xrc(domain, first).create();
      SharedReceiveQueue two =
          SharedReceiveQueue.builder(pair.b.domain, 4).xrc(domain, second).create();
      connect(pair, domain);
      ReceiveList receive = new ReceiveList(1, 1);
      receive.local(0, pair.b.memory, 0, 64);
      assertEquals(1, one.post(receive));
      receive.local(0, pair.b.memory, 64, 64);
      assertEquals(1, two.post(receive));
      pair.a.memory.memory().setString(0, "for the second");
      pair.a.run(message(pair, two.number()));
      Pair.completion(second, CompletionStatus.SUCCESS);
      assertEquals("for the second", pair.b.memory.memory().getString(64));
      pair.a.memory.memory().setString(0, "for the first");
      pair.a.run(message(pair, one.number()));
      Pair.completion(first, CompletionStatus.SUCCESS);
      assertEquals("for the first", pair.b.memory.memory().getString(0));
    }
  }

  @DeviceTest
  void extendedPostingsNameTheQueueToo() {
    try (Pair pair = new Pair()) {
      XrcDomain domain = Rig.orSkip(() -> XrcDomain.open(pair.b.context));
      SharedReceiveQueue queue =
          SharedReceiveQueue.builder(pair.b.domain, 4).xrc(domain, pair.b.completionQueue).create();
      pair.a.queuePair =
          pair.a.builder(QueuePairType.XRC_SEND).sendOperations(SendOperation.SEND).create();
      pair.b.queuePair = QueuePair.builder(domain).create();
      pair.connect();
      ReceiveList receive = new ReceiveList(1, 1);
      receive.local(0, pair.b.memory, 0, 64);
      assertEquals(1, queue.post(receive));
      pair.a.memory.memory().setString(0, "named");
      Posting posting = pair.a.queuePair.startPosting();
      posting.send().sharedReceiveQueue(queue.number()).signaled().local(pair.a.memory, 0, 64);
      assertEquals(1, posting.complete());
      pair.a.completion(CompletionStatus.SUCCESS);
      pair.b.completion(CompletionStatus.SUCCESS);
      assertEquals("named", pair.b.memory.memory().getString(0));
    }
  }

  @DeviceTest
  @On(value = MLX5, reason = "the software device opens no queue pair again")
  void receivingEndIsOpenedAgainByItsNumber(@TempDir Path directory) throws IOException {
    Path file = Files.createTempFile(directory, "xrc", null);
    Context other = Rig.b().open();
    NEVER_CLOSED.add(other);
    try (Pair pair = new Pair()) {
      XrcDomain domain = XrcDomain.open(pair.b.context, file, XrcDomainFlag.CREAT);
      SharedReceiveQueue queue =
          SharedReceiveQueue.builder(pair.b.domain, 4).xrc(domain, pair.b.completionQueue).create();
      connect(pair, domain);
      int number = pair.b.queuePair.number();
      try (XrcDomain wrong = XrcDomain.open(other)) {
        assertEquals(Errno.EINVAL, errno(() -> QueuePair.open(wrong, number)));
      }
      XrcDomain same = XrcDomain.open(other, file);
      QueuePair again = QueuePair.open(same, number);
      assertEquals(number, again.number());
      assertEquals(QueuePairState.RTS, again.query().state());
      pair.b.queuePair.close();
      ReceiveList receive = new ReceiveList(1, 1);
      receive.local(0, pair.b.memory, 0, 64);
      assertEquals(1, queue.post(receive));
      pair.a.run(message(pair, queue.number()));
      pair.b.completion(CompletionStatus.SUCCESS);
      assertEquals(Errno.EINVAL, errno(() -> QueuePair.open(same, number + 1)));
    }
  }

  @DeviceTest
  void unknownSharedReceiveQueueIsAnInvalidRequest() {
    try (Pair pair = new Pair()) {
      connect(pair, Rig.orSkip(() -> XrcDomain.open(pair.b.context)));
      pair.a.run(message(pair, 77), CompletionStatus.REM_INV_REQ_ERR);
    }
  }

  /** The errors are those of {@code ib_uverbs_open_xrcd} of the kernel. */
  @DeviceTest
  @Needs(DESCRIPTORS)
  void aFileHasOneDomain(@TempDir Path directory) throws IOException {
    try (Context context = Rig.a().open()) {
      Rig.orSkip(() -> XrcDomain.open(context));
      Path file = Files.createTempFile(directory, "xrc", null);
      Path link = Files.createLink(directory.resolve("link"), file);
      assertEquals(Errno.EAGAIN, errno(() -> XrcDomain.open(context, file)));
      XrcDomain domain = XrcDomain.open(context, file, XrcDomainFlag.CREAT, XrcDomainFlag.EXCL);
      assertEquals(
          Errno.EINVAL,
          errno(() -> XrcDomain.open(context, link, XrcDomainFlag.CREAT, XrcDomainFlag.EXCL)));
      XrcDomain.open(context, link).close();
      domain.close();
      assertEquals(Errno.EAGAIN, errno(() -> XrcDomain.open(context, link)));
    }
  }

  private static int errno(Executable call) {
    return assertThrows(VerbsException.class, call).errno();
  }

  /** Connects the sending end of a with a receiving end of b. */
  private static void connect(Pair pair, XrcDomain domain) {
    pair.a.queuePair = pair.a.builder(QueuePairType.XRC_SEND).create();
    pair.b.queuePair = QueuePair.builder(domain).create();
    pair.connect();
  }

  private static SendList message(Pair pair, int queue) {
    SendList list = new SendList(1, 1);
    list.send(0).local(pair.a.memory, 0, 64).sharedReceiveQueue(queue).signaled();
    return list;
  }

  /** Both ends connected, and a shared receive queue of b. */
  static SharedReceiveQueue receiver(
      Pair pair, CompletionQueue completions, SendOperation... operations) {
    XrcDomain domain = Rig.orSkip(() -> XrcDomain.open(pair.b.context));
    pair.a.queuePair = pair.a.builder(QueuePairType.XRC_SEND).sendOperations(operations).create();
    pair.b.queuePair = QueuePair.builder(domain).create();
    pair.connect();
    return SharedReceiveQueue.builder(pair.b.domain, 4).xrc(domain, completions).create();
  }

  static void receive(SharedReceiveQueue queue, long id, MemoryRegion region) {
    ReceiveList receive = new ReceiveList(1, 1);
    receive.id(0, id);
    receive.local(0, region, 0, 1024);
    assertEquals(1, queue.post(receive));
  }

  /** The memory is that of the domain of the shared receive queue. */
  @DeviceTest
  void memoryIsChangedAtomically() {
    try (Pair pair = new Pair()) {
      int queue = receiver(pair, pair.b.completionQueue).number();
      MemoryRegion counter = pair.b.memory;
      MemorySegment found = pair.a.memory.memory();
      SendList list = new SendList(1, 1);
      for (int i = 0; i < 5; i++) {
        list.fetchAndAdd(0, 3)
            .local(pair.a.memory, 0, 8)
            .remote(counter.start(), counter.rkey())
            .sharedReceiveQueue(queue)
            .signaled();
        pair.a.run(list);
        assertEquals(i * 3L, found.get(ValueLayout.JAVA_LONG, 0));
      }
      for (long expected : new long[] {15, 42}) {
        list.compareAndSwap(0, 15, 42)
            .local(pair.a.memory, 0, 8)
            .remote(counter.start(), counter.rkey())
            .sharedReceiveQueue(queue)
            .signaled();
        pair.a.run(list);
        assertEquals(expected, found.get(ValueLayout.JAVA_LONG, 0));
        assertEquals(42, counter.memory().get(ValueLayout.JAVA_LONG, 0));
      }
    }
  }

  @DeviceTest
  void requestsArePostedOneByOne() {
    try (Pair pair = new Pair()) {
      SharedReceiveQueue queue =
          receiver(pair, pair.b.completionQueue, SendOperation.SEND, SendOperation.SEND_WITH_IMM);
      for (int i = 0; i < 8; i++) {
        receive(queue, i, pair.b.memory);
        pair.a.memory.memory().fill((byte) (i + 1));
        boolean immediate = i % 2 == 1;
        try (Posting posting = pair.a.queuePair.startPosting()) {
          PostingRequest request =
              immediate ? posting.sendWithImmediate(0x1234 + i) : posting.send();
          request
              .id(100 + i)
              .local(pair.a.memory, 0, 1024)
              .sharedReceiveQueue(queue.number())
              .signaled();
          assertEquals(1, posting.complete());
        }
        assertEquals(100 + i, pair.a.completion(CompletionStatus.SUCCESS).id(0));
        Completions received = pair.b.completion(CompletionStatus.SUCCESS);
        assertEquals(i, received.id(0));
        assertEquals(1024, received.byteLength(0));
        assertEquals(immediate, received.has(0, CompletionFlag.WITH_IMM));
        if (immediate) {
          assertEquals(0x1234 + i, received.immediate(0));
        }
        assertArrived(pair.a.memory, pair.b.memory);
      }
    }
  }

  private static void assertArrived(MemoryRegion from, MemoryRegion to) {
    assertEquals(-1, from.memory().asSlice(0, 1024).mismatch(to.memory().asSlice(0, 1024)));
  }

  @DeviceTest
  void completionsAreReadFromAnExtendedQueue() {
    try (Pair pair = new Pair()) {
      ExtendedCompletionQueue completions =
          pair.b
              .context
              .completionQueue(64)
              .createExtended(CompletionField.BYTE_LEN, CompletionField.QP_NUM);
      SharedReceiveQueue queue = receiver(pair, completions, SendOperation.SEND);
      for (int i = 0; i < 5; i++) {
        receive(queue, 70 + i, pair.b.memory);
        pair.a.memory.memory().fill((byte) (i + 1));
        try (Posting posting = pair.a.queuePair.startPosting()) {
          posting
              .send()
              .local(pair.a.memory, 0, 1024 - i)
              .sharedReceiveQueue(queue.number())
              .signaled();
          assertEquals(1, posting.complete());
        }
        pair.a.completion(CompletionStatus.SUCCESS);
        try (CompletionCursor cursor = CqExTest.next(completions)) {
          assertEquals(CompletionStatus.SUCCESS, cursor.status());
          assertEquals(70 + i, cursor.id());
          assertEquals(CompletionOpcode.RECV, cursor.opcode());
          assertEquals(1024 - i, cursor.byteLength());
          assertEquals(pair.b.queuePair.number(), cursor.queuePairNumber());
          assertFalse(cursor.next(), "one request, one completion");
        }
      }
    }
  }

  @DeviceTest
  void messagesGoToMemoryWithRelaxedOrdering() {
    try (Pair pair = new Pair()) {
      AccessFlag[] relaxed = {AccessFlag.LOCAL_WRITE, AccessFlag.RELAXED_ORDERING};
      SharedReceiveQueue queue = receiver(pair, pair.b.completionQueue, SendOperation.SEND);
      MemoryRegion from = pair.a.page(relaxed).register();
      MemoryRegion to = pair.b.page(relaxed).register();
      SendList list = new SendList(1, 1);
      list.send(0).local(from, 0, 1024).sharedReceiveQueue(queue.number()).signaled();
      for (int i = 0; i < 5; i++) {
        from.memory().fill((byte) (i + 1));
        receive(queue, i, to);
        pair.a.run(list);
        pair.b.completion(CompletionStatus.SUCCESS);
        assertArrived(from, to);
      }
    }
  }
}
