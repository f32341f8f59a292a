package dev.verbena.efa;

import static dev.verbena.testing.DeviceKind.EFA;
import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.address.AddressVector;
import dev.verbena.address.Gid;
import dev.verbena.address.GlobalRoute;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.CompletionField;
import dev.verbena.values.CompletionFlag;
import dev.verbena.values.CompletionOpcode;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairAttribute;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.SendOperation;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionCursor;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.Posting;
import dev.verbena.verbs.PostingRequest;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/**
 * SRD queue pairs of two devices exchange messages: of two EFA, or of two software devices with the
 * profile of an EFA.
 */
@On({SOFTWARE, EFA})
class SrdTest {
  private SoftNetwork network;
  private Device deviceA;
  private Device deviceB;
  private SrdSide a;
  private SrdSide b;
  private AddressHandle toB;
  private AddressHandle toA;
  private final Completions polled = new Completions(8);

  @BeforeEach
  void open() {
    network = Rig.isSoftware() ? SoftNetwork.create().profile("efa") : null;
    deviceA = network == null ? Rig.a() : network.addDevice("soft0", address(1));
    deviceB = network == null ? Rig.b() : network.addDevice("soft1", address(2));
    a = new SrdSide(deviceA);
    b = new SrdSide(deviceB);
    toB = a.handleFor(b);
    toA = b.handleFor(a);
  }

  private static InetAddress address(int host) {
    return InetAddress.ofLiteral("192.0.2." + host);
  }

  @AfterEach
  void close() {
    if (a != null) {
      a.close();
    }
    if (b != null) {
      b.close();
    }
    if (network != null) {
      network.close();
    }
  }

  private SendList list(int requests) {
    return new SendList(requests, 2, 32);
  }

  private void post(SendList list) {
    assertEquals(list.size(), a.queuePair.post(list));
  }

  private int qkey() {
    return b.address().queueKey();
  }

  private long remote(int offset) {
    return b.memory.start() + offset;
  }

  @DeviceTest
  void aMessageArrives() {
    a.memory.memory().setString(0, "over SRD");
    b.receive(7, 1024, 64);
    SendList sends = list(1);
    sends
        .sendWithImmediate(0, 99)
        .id(5)
        .local(a.memory, 0, 64)
        .to(toB, b.queuePair.number(), qkey());
    post(sends);
    try (CompletionCursor cursor = cursorAtNext(b)) {
      assertEquals(CompletionStatus.SUCCESS, cursor.status());
      assertEquals(7, cursor.id());
      assertEquals(CompletionOpcode.RECV, cursor.opcode());
      assertEquals(Optional.empty(), b.completions.sourceGid(cursor), "the address is known");
      assertFalse(b.completions.isUnsolicited(cursor));
    }
    assertEquals("over SRD", b.memory.memory().getString(1024));
    assertEquals(5, a.completion().id(0));
  }

  private static CompletionCursor cursorAtNext(SrdSide side) {
    while (true) {
      CompletionCursor cursor = side.completions.queue().startPolling();
      if (cursor.next()) {
        return cursor;
      }
      cursor.close();
      Thread.onSpinWait();
    }
  }

  @DeviceTest
  void completionsTellTheSender() {
    b.receive(1, 0, 64);
    SendList sends = list(1);
    sends.sendWithImmediate(0, 99).local(a.memory, 0, 40).to(toB, b.queuePair.number(), qkey());
    post(sends);
    var completion = b.completion();
    assertEquals(a.queuePair.number(), completion.sourceQueuePair(0));
    assertEquals(99, completion.immediate(0));
    assertEquals(40, completion.byteLength(0));
    assertEquals(b.efa.number(toA), completion.sourceLid(0));
  }

  @DeviceTest
  void theSourceOfAnUnknownSenderIsItsGid() {
    toA.close();
    b.receive(1, 0, 64);
    SendList sends = list(1);
    sends.send(0).local(a.memory, 0, 64).to(toB, b.queuePair.number(), qkey());
    post(sends);
    Gid source;
    try (CompletionCursor cursor = cursorAtNext(b)) {
      source = b.completions.sourceGid(cursor).orElseThrow();
    }
    assertEquals(a.address().gid(), source);
  }

  @DeviceTest
  void memoryIsWrittenAndRead() {
    a.memory.memory().setString(0, "written");
    SendList writes = list(1);
    writes
        .write(0)
        .local(a.memory, 0, 64)
        .remote(remote(4096), b.memory.rkey())
        .to(toB, b.queuePair.number(), qkey());
    post(writes);
    var completion = a.completion();
    assertEquals(CompletionStatus.SUCCESS, completion.status(0));
    assertEquals(CompletionOpcode.RDMA_WRITE, completion.opcode(0));
    assertEquals("written", b.memory.memory().getString(4096));

    b.memory.memory().setString(8192, "read");
    SendList reads = list(1);
    reads
        .read(0)
        .local(a.memory, 128, 64)
        .remote(remote(8192), b.memory.rkey())
        .to(toB, b.queuePair.number(), qkey());
    post(reads);
    a.expect(CompletionStatus.SUCCESS);
    assertEquals("read", a.memory.memory().getString(128));
  }

  @DeviceTest
  void aWriteWithImmediateDataConsumesAReceive() {
    b.receive(3, 0, 1);
    SendList writes = list(1);
    writes
        .writeWithImmediate(0, 17)
        .local(a.memory, 0, 64)
        .remote(remote(4096), b.memory.rkey())
        .to(toB, b.queuePair.number(), qkey());
    post(writes);
    var completion = b.completion();
    assertEquals(3, completion.id(0));
    assertEquals(CompletionOpcode.RECV_RDMA_WITH_IMM, completion.opcode(0));
    assertEquals(17, completion.immediate(0));
    a.expect(CompletionStatus.SUCCESS);
  }

  @DeviceTest
  void anUnsolicitedWriteConsumesNoReceive() {
    try (SrdSide unsolicited = new SrdSide(deviceB, EfaQueuePairFlag.UNSOLICITED_WRITE_RECV);
        AddressHandle back = unsolicited.handleFor(a)) {
      SendList writes = list(1);
      writes
          .writeWithImmediate(0, 17)
          .local(a.memory, 0, 64)
          .remote(unsolicited.memory.start(), unsolicited.memory.rkey())
          .to(toB, unsolicited.queuePair.number(), unsolicited.address().queueKey());
      post(writes);
      try (CompletionCursor cursor = cursorAtNext(unsolicited)) {
        assertTrue(unsolicited.completions.isUnsolicited(cursor));
        assertEquals(0, cursor.id());
      }
      assertTrue(back.isOpen());
    }
  }

  @DeviceTest
  void inlineDataIsSent() {
    b.receive(1, 0, 64);
    SendList sends = list(1);
    sends.send(0).inline(8).to(toB, b.queuePair.number(), qkey());
    sends.inlineData(0).setString(0, "inline");
    post(sends);
    b.expect(CompletionStatus.SUCCESS);
    assertEquals("inline", b.memory.memory().getString(0));
  }

  @DeviceTest
  void aBatchArrivesInAnyOrder() {
    for (int i = 0; i < SrdSide.DEPTH; i++) {
      b.receive(i, 64 * i, 64);
    }
    SendList sends = list(SrdSide.DEPTH);
    for (int i = 0; i < SrdSide.DEPTH; i++) {
      sends
          .sendWithImmediate(i, i)
          .id(i)
          .local(a.memory, 64L * i, 64)
          .to(toB, b.queuePair.number(), qkey());
    }
    post(sends);
    List<Integer> arrived = new ArrayList<>();
    List<Long> completed = new ArrayList<>();
    for (int i = 0; i < SrdSide.DEPTH; i++) {
      arrived.add(b.completion().immediate(0));
      completed.add(a.completion().id(0));
    }
    List<Integer> posted = IntStream.range(0, SrdSide.DEPTH).boxed().toList();
    assertEquals(posted, arrived.stream().sorted().toList());
    assertEquals(
        posted, completed.stream().map(Long::intValue).sorted().toList(), completed::toString);
  }

  @DeviceTest
  void aListThatIsTooLongIsPostedInParts() {
    SendList sends = list(3 * SrdSide.DEPTH);
    for (int i = 0; i < sends.size(); i++) {
      sends
          .write(i)
          .id(i)
          .local(a.memory, 0, 64)
          .remote(remote(0), b.memory.rkey())
          .to(toB, b.queuePair.number(), qkey());
    }
    int posted = 0;
    int completed = 0;
    while (completed < sends.size()) {
      if (posted < sends.size()) {
        posted += a.queuePair.post(sends, posted, sends.size() - posted);
      }
      assertTrue(posted > completed);
      a.expect(CompletionStatus.SUCCESS);
      completed++;
    }
  }

  @DeviceTest
  void requestsArePostedOneByOne() {
    a.memory.memory().setString(0, "posting");
    try (Posting posting = a.queuePair.startPosting()) {
      posting
          .write(remote(0), b.memory.rkey())
          .id(4)
          .local(a.memory, 0, 64)
          .to(toB, b.queuePair.number(), qkey());
      assertEquals(1, posting.complete());
    }
    var completion = a.completion();
    assertEquals(CompletionStatus.SUCCESS, completion.status(0));
    assertEquals(4, completion.id(0));
    assertEquals("posting", b.memory.memory().getString(0));
  }

  private void complete(PostingRequest request) {
    assertEquals(1, request.signaled().to(toB, b.queuePair.number(), qkey()).complete());
    a.expect(CompletionStatus.SUCCESS);
  }

  @DeviceTest
  void eachOperationIsPostedOneByOne() {
    int size = 256;
    var from = a.memory.memory().asSlice(0, size);
    var to = b.memory.memory().asSlice(0, size);
    for (int i = 1; i <= 5; i++) {
      from.fill((byte) i);
      b.receive(i, 0, size);
      complete(a.queuePair.startPosting().send().local(a.memory, 0, size));
      var received = b.completion();
      assertEquals(i, received.id(0));
      assertEquals(size, received.byteLength(0));
      assertFalse(received.has(0, CompletionFlag.WITH_IMM));
      assertEquals(-1, from.mismatch(to));

      from.fill((byte) (10 + i));
      b.receive(i, 0, size);
      complete(a.queuePair.startPosting().sendWithImmediate(70 + i).local(a.memory, 0, size));
      assertEquals(70 + i, b.completion().immediate(0));
      assertEquals(-1, from.mismatch(to));

      from.fill((byte) (20 + i));
      b.receive(i, 0, size);
      complete(
          a.queuePair
              .startPosting()
              .writeWithImmediate(remote(0), b.memory.rkey(), 80 + i)
              .local(a.memory, 0, size));
      received = b.completion();
      assertEquals(80 + i, received.immediate(0));
      assertEquals(CompletionOpcode.RECV_RDMA_WITH_IMM, received.opcode(0));
      assertEquals(-1, from.mismatch(to));

      to.fill((byte) (30 + i));
      complete(
          a.queuePair.startPosting().read(remote(0), b.memory.rkey()).local(a.memory, 0, size));
      assertEquals(-1, from.mismatch(to));

      b.receive(i, 0, size);
      complete(a.queuePair.startPosting().send().local(a.memory, 0, 0));
      assertEquals(0, b.completion().byteLength(0));
    }
  }

  @DeviceTest
  void aQueuePairInResetPostsNothing() {
    try (QueuePair reset = a.efa.queuePair(a.domain).completions(a.completions.queue()).create()) {
      ReceiveList receives = new ReceiveList(1, 1);
      receives.local(0, a.memory, 0, 64);
      String message =
          assertThrows(IllegalStateException.class, () -> reset.post(receives)).getMessage();
      assertTrue(message.contains("in state RESET"), message);
      Posting posting = reset.startPosting();
      posting.send().local(a.memory, 0, 8).to(toB, b.queuePair.number(), qkey());
      message = assertThrows(IllegalStateException.class, posting::complete).getMessage();
      assertTrue(message.contains("in state RESET"), message);
    }
  }

  @DeviceTest
  void aFullReceiveQueuePostsNoMore() {
    int room = b.queuePair.capacity().receiveRequests();
    ReceiveList receives = new ReceiveList(room + 1, 1);
    for (int i = 0; i <= room; i++) {
      receives.local(i, b.memory, 0, 64);
    }
    assertEquals(room, b.queuePair.post(receives));
    assertEquals(0, b.queuePair.post(receives, room, 1));
  }

  @DeviceTest
  void receivesHaveNoMoreSgesThanTheQueueTakes() {
    int sges = b.queuePair.capacity().receiveSges() + 1;
    ReceiveList receives = new ReceiveList(1, sges);
    for (int i = 0; i < sges; i++) {
      receives.local(0, i, b.memory, 8L * i, 8);
    }
    String message =
        assertThrows(IllegalArgumentException.class, () -> b.queuePair.post(receives)).getMessage();
    assertTrue(message.contains(sges + " SGEs"), message);
  }

  @DeviceTest
  void failedRequestsLeaveTheQueuePairUsable() {
    SendList sends = list(1);
    sends.send(0).local(a.memory, 0, 64).to(toB, b.queuePair.number(), qkey());
    post(sends);
    a.expect(CompletionStatus.RNR_RETRY_EXC_ERR);
    sends.to(0, toB, b.queuePair.number(), qkey() + 1);
    post(sends);
    a.expect(CompletionStatus.REM_INV_RD_REQ_ERR);
    sends
        .write(0)
        .local(a.memory, 0, 64)
        .remote(remote(0), b.memory.rkey() + 256)
        .to(toB, b.queuePair.number(), qkey());
    post(sends);
    a.expect(CompletionStatus.REM_ACCESS_ERR);
    assertEquals(QueuePairState.RTS, a.queuePair.query(QueuePairAttribute.STATE).state());
    b.receive(1, 0, 64);
    sends.send(0).local(a.memory, 0, 64).to(toB, b.queuePair.number(), qkey());
    post(sends);
    a.expect(CompletionStatus.SUCCESS);
  }

  @DeviceTest
  void rdmaRequiresAnAddressHandleAtTheResponder() {
    toA.close();
    SendList writes = list(1);
    writes
        .write(0)
        .local(a.memory, 0, 64)
        .remote(remote(0), b.memory.rkey())
        .to(toB, b.queuePair.number(), qkey());
    post(writes);
    a.expect(CompletionStatus.REM_OP_ERR);
    try (AddressHandle again = b.handleFor(a)) {
      assertTrue(again.isOpen());
      post(writes);
      a.expect(CompletionStatus.SUCCESS);
    }
  }

  @DeviceTest
  void addressHandlesAreExhausted() {
    int max = a.context.deviceAttributes().maxAddressHandles();
    byte[] gid = b.address().gid().toBytes();
    VerbsException failure =
        assertThrows(
            VerbsException.class,
            () -> {
              for (int i = 0; i < max; i++) {
                gid[8] = (byte) (1 + (i >> 8));
                gid[9] = (byte) i;
                a.domain.createAddressHandle(
                    AddressVector.global(1, new GlobalRoute(Gid.fromBytes(gid), 0)));
              }
            });
    assertEquals(Errno.ENOMEM, failure.errno());
    assertTrue(failure.getMessage().contains("max_ah"), failure::getMessage);
  }

  @DeviceTest
  void completionEventsArrive() throws InterruptedException {
    try (CompletionChannel channel = a.context.createCompletionChannel();
        CompletionQueue queue = a.context.completionQueue(16).channel(channel).create();
        QueuePair queuePair = a.efa.queuePair(a.domain).completions(queue).create()) {
      queuePair.activate();
      SendList writes = list(1);
      writes
          .write(0)
          .local(a.memory, 0, 64)
          .remote(remote(0), b.memory.rkey())
          .to(toB, b.queuePair.number(), qkey());
      Completions completions = new Completions(1);
      for (int i = 0; i < 20; i++) {
        queue.requestNotification();
        assertEquals(1, queuePair.post(writes));
        assertEquals(queue, channel.poll(Await.LIMIT));
        assertEquals(1, queue.poll(completions));
      }
    }
  }

  @DeviceTest
  void requestsThatDoNotSuitSrdAreRefused() {
    SendList sends = list(1);
    sends.send(0).local(a.memory, 0, 64);
    refused(sends, "has no address handle, which a SRD queue pair requires");
    sends.send(0).local(a.memory, 0, 64).to(toB, b.queuePair.number(), qkey()).fenced();
    refused(sends, "fenced");
    sends.fetchAndAdd(0, 1).local(a.memory, 0, 8).remote(remote(0), b.memory.rkey());
    refused(sends, "cannot be posted to a queue pair of type SRD");
    sends.send(0).local(a.memory, 0, 64).to(toA, b.queuePair.number(), qkey());
    refused(sends, "another protection domain");
    try (QueuePair sender =
        a.efa
            .queuePair(a.domain)
            .completions(a.completions.queue())
            .sendOperations(SendOperation.SEND)
            .create()) {
      sender.activate();
      sends
          .write(0)
          .local(a.memory, 0, 8)
          .remote(remote(0), b.memory.rkey())
          .to(toB, b.queuePair.number(), qkey());
      for (int post = 0; post < 2; post++) { // The list is validated each time.
        assertTrue(
            assertThrows(IllegalArgumentException.class, () -> sender.post(sends))
                .getMessage()
                .contains("sendOperations([SEND])"));
      }
    }
    VerbsException failure =
        assertThrows(VerbsException.class, () -> a.queuePair.post(twoSges(list(1))));
    assertEquals(Errno.EINVAL, failure.errno());
  }

  private SendList twoSges(SendList list) {
    list.write(0)
        .local(a.memory, 0, 8)
        .local(a.memory, 8, 8)
        .remote(remote(0), b.memory.rkey())
        .to(toB, b.queuePair.number(), qkey());
    return list;
  }

  private void refused(SendList list, String reason) {
    String message =
        assertThrows(IllegalArgumentException.class, () -> a.queuePair.post(list)).getMessage();
    assertTrue(message.contains(reason), message);
  }

  @DeviceTest
  void anErrorFlushesTheQueues() {
    b.receive(1, 0, 64);
    b.queuePair.fail();
    b.expect(CompletionStatus.WR_FLUSH_ERR);
    assertTrue(
        assertThrows(IllegalStateException.class, b.queuePair::reset)
            .getMessage()
            .contains("close it and create another one"));
  }

  @DeviceTest
  void theDeviceReportsItsLimits() {
    EfaDevice efa = a.efa;
    assertTrue(
        efa.capabilities().containsAll(Set.of(EfaCapability.RDMA_READ, EfaCapability.RDMA_WRITE)));
    assertTrue(efa.maxSendRequests() >= SrdSide.DEPTH);
    assertTrue(efa.maxReceiveRequests() >= SrdSide.DEPTH);
    assertTrue(efa.maxSendSges() >= 2 && efa.maxReceiveSges() >= 2);
    assertTrue(efa.maxInlineData() >= 32);
    assertTrue(efa.maxRdmaSize() >= SrdSide.SIZE);
    assertEquals(
        efa.maxSendRequests(), Rig.orSkip(() -> efa.maxSendRequests(efa.maxSendSges(), 0)));
    assertEquals(
        efa.maxSendRequests() / 2,
        efa.maxSendRequests(1, 0, EfaQueuePairFlag.INLINE_WRITE),
        "entries are twice as large");
    assertEquals(efa.maxReceiveRequests() / 2, efa.maxReceiveRequests(2));
    assertThrows(IllegalArgumentException.class, () -> efa.maxReceiveRequests(0));
    assertEquals(
        Errno.EINVAL, assertThrows(VerbsException.class, () -> efa.maxReceiveRequests(99)).errno());
    assertTrue(Rig.orSkip(() -> efa.interconnects(a.memory)).receive().isPresent());
  }

  @DeviceTest
  void tooLargeQueuePairsAreRefusedWithTheLimits() {
    var builder =
        a.efa
            .queuePair(a.domain)
            .completions(a.completions.queue())
            .capacity(QueuePairCapacity.of(1 << 20));
    VerbsException failure = assertThrows(VerbsException.class, builder::create);
    assertEquals(Errno.EINVAL, failure.errno());
    assertTrue(
        failure.getMessage().contains(a.efa.maxSendRequests() + " send requests"),
        failure::getMessage);
    assertThrows(
        IllegalArgumentException.class, () -> QueuePair.builder(a.domain, QueuePairType.SRD));
    assertThrows(IllegalArgumentException.class, () -> builder.sendOperations());
    assertThrows(IllegalArgumentException.class, () -> a.efa.queuePair(b.domain));
    assertThrows(IllegalArgumentException.class, () -> a.efa.queuePair(a.domain, 256));
    assertThrows(IllegalArgumentException.class, () -> a.efa.number(toA));
  }

  @DeviceTest
  void sourcesAreReadAtACompletionOnly() {
    try (CompletionCursor cursor = b.completions.queue().startPolling()) {
      assertThrows(IllegalStateException.class, () -> b.completions.sourceGid(cursor));
      assertThrows(IllegalStateException.class, () -> b.completions.isUnsolicited(cursor));
    }
    b.receive(1, 0, 64);
    SendList sends = list(1);
    sends.send(0).local(a.memory, 0, 64).to(toB, b.queuePair.number(), qkey());
    post(sends);
    try (CompletionCursor cursor = cursorAtNext(b)) {
      assertThrows(IllegalStateException.class, () -> a.completions.sourceGid(cursor));
    }
    EfaCompletionQueue more =
        a.efa.createCompletionQueue(
            a.context.completionQueue(4), CompletionField.BYTE_LEN, CompletionField.SRC_QP);
    assertEquals(Set.of(CompletionField.BYTE_LEN, CompletionField.SRC_QP), more.queue().fields());
  }

  @DeviceTest
  void manyReceivesAreInOneList() {
    ReceiveList receives = new ReceiveList(SrdSide.DEPTH, 2);
    for (int i = 0; i < receives.size(); i++) {
      receives.local(i, 0, b.memory, 64L * i, 16);
      receives.local(i, 1, b.memory, 64L * i + 32, 16);
    }
    assertEquals(receives.size(), b.queuePair.post(receives));
    a.memory.memory().setString(0, "the first half, and the second");
    SendList sends = list(1);
    sends.send(0).local(a.memory, 0, 32).to(toB, b.queuePair.number(), qkey());
    post(sends);
    b.expect(CompletionStatus.SUCCESS);
    assertEquals(a.memory.memory().asSlice(16, 16).mismatch(b.memory.memory().asSlice(32, 16)), -1);
  }

  @DeviceTest
  void postingAndPollingAllocateNothing() throws Throwable {
    SendList writes = list(8);
    for (int i = 0; i < writes.size(); i++) {
      writes
          .write(i)
          .local(a.memory, 0, 64)
          .remote(remote(0), b.memory.rkey())
          .to(toB, b.queuePair.number(), qkey());
    }
    MethodHandle allocatedBytes = allocatedBytes();
    int rounds = 20_000;
    long before = 0;
    for (int round = -rounds; round < rounds; round++) {
      if (round == 0) {
        before = (long) allocatedBytes.invokeExact();
      }
      if (a.queuePair.post(writes) != writes.size()) {
        throw new AssertionError("the queue is full");
      }
      for (int done = 0; done < writes.size(); ) {
        done += a.completions.queue().poll(polled);
      }
    }
    long bytes = (long) allocatedBytes.invokeExact() - before;
    assertTrue(bytes < rounds, () -> bytes + " bytes in " + rounds + " rounds");
  }

  /** How much this thread has allocated; the library's module does not know the one asked. */
  private static MethodHandle allocatedBytes() throws ReflectiveOperationException {
    Object threads =
        Class.forName("java.lang.management.ManagementFactory")
            .getMethod("getThreadMXBean")
            .invoke(null);
    return MethodHandles.publicLookup()
        .findVirtual(
            Class.forName("com.sun.management.ThreadMXBean"),
            "getCurrentThreadAllocatedBytes",
            MethodType.methodType(long.class))
        .asType(MethodType.methodType(long.class, Object.class))
        .bindTo(threads);
  }
}
