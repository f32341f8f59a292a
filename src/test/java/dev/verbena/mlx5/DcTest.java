package dev.verbena.mlx5;

import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionOpcode;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairAttribute;
import dev.verbena.values.QueuePairAttributes;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.RnrTimer;
import dev.verbena.values.SendOperation;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Posting;
import dev.verbena.verbs.PostingRequest;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SharedReceiveQueue;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.net.InetAddress;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.function.Executable;

/**
 * DC initiators and targets of two devices exchange messages: of two mlx5, or of two software
 * devices with the profile of an mlx5.
 */
@On({SOFTWARE, MLX5})
class DcTest {
  private static final long KEY = DcSide.KEY;

  private SoftNetwork network;
  private DcSide a;
  private DcSide b;
  private AddressHandle toB;
  private int target;
  private final Completions polled = new Completions(8);

  @BeforeEach
  void open() {
    network = Rig.isSoftware() ? SoftNetwork.create().profile("connectx5") : null;
    a = new DcSide(network == null ? Rig.a() : network.addDevice("soft0", address(1)));
    b = new DcSide(network == null ? Rig.b() : network.addDevice("soft1", address(2)));
    toB = a.handleFor(b);
    target = b.target.localAddress().number();
  }

  private static InetAddress address(int host) {
    return InetAddress.ofLiteral("192.0.2." + host);
  }

  @AfterEach
  void close() {
    if (b != null) {
      b.close();
    }
    if (a != null) {
      a.close();
    }
    if (network != null) {
      network.close();
    }
  }

  private static SendList list(int requests) {
    return new SendList(requests, 2, 32);
  }

  private long remote(int offset) {
    return b.memory.start() + offset;
  }

  private void post(SendList list) {
    assertEquals(list.size(), a.initiator.post(list));
  }

  private SendList oneSend() {
    SendList sends = list(1);
    sends.send(0).id(7).local(a.memory, 0, 64).toTarget(toB, target, KEY).signaled();
    return sends;
  }

  private SendList oneWrite(int rkey) {
    SendList sends = list(1);
    sends
        .write(0)
        .local(a.memory, 0, 64)
        .remote(remote(0), rkey)
        .toTarget(toB, target, KEY)
        .signaled();
    return sends;
  }

  private static void refused(
      Class<? extends RuntimeException> type, String reason, Executable call) {
    String message = assertThrows(type, call).getMessage();
    assertTrue(message.contains(reason), message);
  }

  private void notPosted(SendList list, String reason) {
    refused(IllegalArgumentException.class, reason, () -> assertEquals(0, a.initiator.post(list)));
  }

  // Messages

  @DeviceTest
  void sendsArriveAtTheTarget() {
    a.memory.memory().setString(0, "to the target");
    b.receive(5, 1024, 64);
    post(oneSend());
    Completions received = b.completion();
    assertEquals(CompletionStatus.SUCCESS, received.status(0));
    assertEquals(CompletionOpcode.RECV, received.opcode(0));
    assertEquals(5, received.id(0));
    assertEquals(64, received.byteLength(0));
    assertEquals(target, received.queuePairNumber(0));
    assertEquals("to the target", b.memory.memory().getString(1024));
    Completions sent = a.completion();
    assertEquals(7, sent.id(0));
    assertEquals(CompletionStatus.SUCCESS, sent.status(0));
  }

  @DeviceTest
  void immediateDataArrives() {
    SendList sends = list(2);
    sends.sendWithImmediate(0, 41).inline(16).toTarget(toB, target, KEY).signaled();
    sends
        .writeWithImmediate(1, 42)
        .local(a.memory, 0, 8)
        .remote(remote(0), b.memory.rkey())
        .toTarget(toB, target, KEY)
        .signaled();
    sends.inlineData(0).setString(0, "inline");
    a.memory.memory().set(ValueLayout.JAVA_LONG, 0, 17);
    b.receive(1, 1024, 64);
    b.receive(2, 1024, 0);
    post(sends);
    Completions received = b.completion();
    assertEquals(41, received.immediate(0));
    assertEquals("inline", b.memory.memory().getString(1024));
    received = b.completion();
    assertEquals(CompletionOpcode.RECV_RDMA_WITH_IMM, received.opcode(0));
    assertEquals(42, received.immediate(0));
    assertEquals(17, b.memory.memory().get(ValueLayout.JAVA_LONG, 0));
    a.expect(CompletionStatus.SUCCESS);
    a.expect(CompletionStatus.SUCCESS);
  }

  @DeviceTest
  void memoryIsWrittenAndRead() {
    a.memory.memory().setString(0, "written");
    post(oneWrite(b.memory.rkey()));
    a.expect(CompletionStatus.SUCCESS);
    assertEquals("written", b.memory.memory().getString(0));
    b.memory.memory().setString(64, "read");
    SendList reads = list(1);
    reads
        .read(0)
        .local(a.memory, 128, 4)
        .local(a.memory, 256, 4)
        .remote(remote(64), b.memory.rkey())
        .toTarget(toB, target, KEY)
        .signaled();
    post(reads);
    a.expect(CompletionStatus.SUCCESS);
    assertEquals("read", a.memory.memory().getString(128));
  }

  @DeviceTest
  void memoryIsChangedAtomically() {
    b.memory.memory().set(ValueLayout.JAVA_LONG, 64, 40);
    SendList atomics = list(2);
    atomics
        .fetchAndAdd(0, 2)
        .local(a.memory, 0, 8)
        .remote(remote(64), b.memory.rkey())
        .toTarget(toB, target, KEY)
        .signaled();
    atomics
        .compareAndSwap(1, 42, 7)
        .local(a.memory, 8, 8)
        .remote(remote(64), b.memory.rkey())
        .toTarget(toB, target, KEY)
        .signaled();
    post(atomics);
    a.expect(CompletionStatus.SUCCESS);
    a.expect(CompletionStatus.SUCCESS);
    assertEquals(40, a.memory.memory().get(ValueLayout.JAVA_LONG, 0));
    assertEquals(42, a.memory.memory().get(ValueLayout.JAVA_LONG, 8));
    assertEquals(7, b.memory.memory().get(ValueLayout.JAVA_LONG, 64));
  }

  @DeviceTest
  void oneInitiatorReachesTwoTargets() {
    SharedReceiveQueue queue = SharedReceiveQueue.create(b.domain, DcSide.DEPTH);
    QueuePair second = b.newTarget(queue, KEY + 1);
    second.activate();
    assertNotEquals(target, second.number());
    b.receive(1, 1024, 64);
    b.receive(queue, 2, 2048, 64);
    SendList sends = list(2);
    sends.send(0).local(a.memory, 0, 8).toTarget(toB, target, KEY);
    sends.send(1).local(a.memory, 0, 8).toTarget(toB, second.number(), KEY + 1).signaled();
    post(sends);
    assertEquals(1, b.completion().id(0));
    Completions received = b.completion();
    assertEquals(2, received.id(0));
    assertEquals(second.number(), received.queuePairNumber(0));
    a.expect(CompletionStatus.SUCCESS);
    sends.toTarget(1, toB, target, KEY); // A formatted request is sent to another target.
    b.receive(3, 1024, 64);
    assertEquals(1, a.initiator.post(sends, 1, 1));
    assertEquals(3, b.completion().id(0));
  }

  @DeviceTest
  void oneTargetReceivesFromTwoDevices() {
    AddressHandle toItself = b.handleFor(b);
    b.receive(1, 1024, 64);
    b.receive(2, 2048, 64);
    post(oneSend());
    assertEquals(1, b.completion().id(0));
    SendList sends = list(1);
    sends.send(0).local(b.memory, 0, 8).toTarget(toItself, target, KEY);
    assertEquals(1, b.initiator.post(sends));
    assertEquals(2, b.completion().id(0));
  }

  @DeviceTest
  void requestsArePostedOneByOne() {
    a.memory.memory().setString(0, "posting");
    b.receive(5, 1024, 64);
    try (Posting posting = a.initiator.startPosting()) {
      posting.write(remote(0), b.memory.rkey()).toTarget(toB, target, KEY).local(a.memory, 0, 64);
      posting.send().id(2).signaled().local(a.memory, 0, 64).toTarget(toB, target, KEY);
      assertEquals(2, posting.complete());
    }
    assertEquals(5, b.completion().id(0));
    assertEquals(2, a.completion().id(0));
    assertEquals("posting", b.memory.memory().getString(0));
    try (Posting posting = a.initiator.startPosting()) {
      PostingRequest request = posting.send();
      refused(IllegalStateException.class, "toTarget()", () -> request.to(toB, target, 1));
      refused(IllegalStateException.class, "has no DC target", posting::complete);
    }
    try (Posting posting = a.initiator.startPosting()) {
      PostingRequest request = posting.send().toTarget(toB, target, KEY);
      refused(
          IllegalStateException.class,
          "already has a destination",
          () -> request.toTarget(toB, target, KEY));
    }
  }

  @DeviceTest
  void aFullQueuePostsAPart() {
    SendList sends = list(16 * DcSide.DEPTH);
    for (int i = 0; i < sends.size(); i++) {
      sends.send(i).id(i).local(a.memory, 0, 8).toTarget(toB, target, KEY).signaled();
    }
    a.initiator.setup().rnrRetryCount(7); // Without end: nothing completes before it is received.
    a.recover();
    int posted = a.initiator.post(sends);
    assertTrue(posted >= DcSide.DEPTH / 2 && posted < sends.size(), posted + " posted");
    while (a.initiator.post(sends, posted, 1) == 1) {
      posted++;
    }
    SendList write = list(1);
    write.write(0).remote(remote(0), b.memory.rkey()).local(a.memory, 0, 64);
    write.toTarget(0, toB, target, KEY);
    assertEquals(0, a.initiator.post(write), "the queue is full");
    for (int i = 0; i < posted; i++) {
      b.receive(i, 1024, 64);
      Completions received = b.completion();
      assertEquals(i, received.id(0));
      assertEquals(8, received.byteLength(0));
      assertEquals(i, a.completion().id(0));
    }
  }

  // Failures

  @DeviceTest
  void aWrongAccessKeyFailsTheInitiatorOnly() {
    b.receive(1, 1024, 64);
    SendList sends = oneSend();
    sends.toTarget(0, toB, target, KEY + 1);
    post(sends);
    // What a NIC reports is not documented; the emulated one reports REM_ACCESS_ERR.
    assertNotEquals(CompletionStatus.SUCCESS, a.completion().status(0));
    assertEquals(QueuePairState.ERR, a.initiator.state());
    a.recover();
    post(oneSend());
    a.expect(CompletionStatus.SUCCESS);
    assertEquals(1, b.completion().id(0));
  }

  @DeviceTest
  void aTargetWithoutReceiveRequestIsNotReady() {
    SendList sends = list(2);
    sends.send(0).id(1).local(a.memory, 0, 8).toTarget(toB, target, KEY).signaled();
    sends.send(1).id(2).local(a.memory, 0, 8).toTarget(toB, target, KEY).signaled();
    post(sends);
    a.expect(CompletionStatus.RNR_RETRY_EXC_ERR);
    a.expect(CompletionStatus.WR_FLUSH_ERR);
  }

  @DeviceTest
  void aTargetThatDoesNotExistDoesNotAnswer() {
    SendList sends = oneSend();
    sends.toTarget(0, toB, b.initiator.number(), KEY); // An initiator is no target.
    post(sends);
    a.expect(CompletionStatus.RETRY_EXC_ERR);
  }

  @DeviceTest
  void aWrongRemoteKeyIsRefused() {
    post(oneWrite(b.memory.rkey() + 256));
    a.expect(CompletionStatus.REM_ACCESS_ERR);
    a.recover();
    post(oneWrite(b.memory.rkey()));
    a.expect(CompletionStatus.SUCCESS);
  }

  @DeviceTest
  void aTargetAllowsOnlyTheOperationsOfItsSettings() {
    QueuePair messagesOnly = b.newTarget(b.received, KEY);
    messagesOnly.setup().access();
    messagesOnly.activate();
    SendList writes = oneWrite(b.memory.rkey());
    writes.toTarget(0, toB, messagesOnly.number(), KEY);
    post(writes);
    assertNotEquals(CompletionStatus.SUCCESS, a.completion().status(0));
  }

  // States

  @DeviceTest
  void aTargetHasItsNumberFromReadyToReceiveOn() {
    QueuePair made = b.newTarget(b.received, KEY);
    assertEquals(QueuePairType.DC_TARGET, made.type());
    assertEquals(0, made.number());
    assertEquals(QueuePairState.RESET, made.state());
    refused(IllegalStateException.class, "has no number before state RTR", made::localAddress);
    refused(IllegalStateException.class, "queries a DC target in state RTR only", made::query);
    made.setup().init();
    assertEquals(QueuePairState.INIT, made.state());
    made.activate();
    assertEquals(QueuePairState.RTR, made.state());
    assertNotEquals(0, made.number());
    assertEquals(made.number(), made.localAddress().number());
    QueuePairAttributes attributes = made.query();
    assertEquals(QueuePairState.RTR, attributes.state());
    assertTrue(attributes.access().contains(AccessFlag.REMOTE_WRITE));
    refused(IllegalStateException.class, "in state RTR, its last one", made::activate);
    refused(IllegalStateException.class, "use activate()", () -> made.connect(otherAddress()));
    refused(VerbsException.class, "close it and create another one", made::reset);
    refused(VerbsException.class, "close it and create another one", made::fail);
    refused(
        VerbsException.class,
        "no transition from state RTR to RTS",
        () -> made.modify(QueuePairAttributes.toReadyToSend(made.type()).build()));
  }

  private QueuePairAddress otherAddress() {
    return b.target.localAddress();
  }

  @DeviceTest
  void eachTransitionHasItsAttributes() {
    QueuePair newTarget = b.newTarget(b.received, KEY);
    newTarget.modify(
        QueuePairAttributes.toInit(newTarget.type())
            .port(1)
            .access(AccessFlag.REMOTE_WRITE)
            .build());
    newTarget.modify(
        QueuePairAttributes.toReadyToReceive(newTarget.type())
            .path(b.initiator.setup().pathTo(b.target.localAddress()))
            .pathMtu(b.context.port(1).attributes().activeMtu())
            .minRnrTimer(RnrTimer.DEFAULT)
            .build());
    QueuePair initiator = a.newInitiator();
    assertEquals(QueuePairType.DC_INITIATOR, initiator.type());
    initiator.modify(QueuePairAttributes.toInit(initiator.type()).port(1).build());
    refused(
        VerbsException.class,
        "IBV_QP_PATH_MTU",
        () -> initiator.modify(QueuePairAttributes.toReadyToReceive(initiator.type()).build()));
    initiator.modify(
        QueuePairAttributes.toReadyToReceive(initiator.type())
            .pathMtu(a.context.port(1).attributes().activeMtu())
            .build());
    initiator.modify(QueuePairAttributes.toReadyToSend(initiator.type()).sendPsn(1).build());
    assertEquals(QueuePairState.RTS, initiator.query(QueuePairAttribute.STATE).state());
    b.receive(1, 1024, 64);
    SendList sends = oneSend();
    sends.toTarget(0, toB, newTarget.number(), KEY);
    assertEquals(1, initiator.post(sends));
    a.expect(CompletionStatus.SUCCESS);
    refused(VerbsException.class, "no transition from state RTS to SQD", initiator::startDraining);
  }

  // What is refused

  @DeviceTest
  void requestsThatDoNotSuitDcAreRefused() {
    SendList sends = list(1);
    sends.send(0).local(a.memory, 0, 64);
    notPosted(sends, "has no DC target, which a DC_INITIATOR queue pair requires");
    sends.send(0).local(a.memory, 0, 64).to(toB, target, 7);
    notPosted(sends, "has no DC target");
    sends.toTarget(0, toB, target, KEY);
    b.receive(1, 0, 64);
    post(sends);
    sends.to(0, toB, target, 7);
    notPosted(sends, "has no DC target");
    AddressHandle ofOther = b.handleFor(b);
    sends.toTarget(0, toB, target, KEY);
    sends.toTarget(0, ofOther, target, KEY);
    notPosted(sends, "another protection domain");
    sends.send(0).local(a.memory, 0, 64).toTarget(ofOther, target, KEY);
    notPosted(sends, "another protection domain");
    try (Posting posting = a.initiator.startPosting()) {
      PostingRequest request = posting.send();
      refused(
          IllegalArgumentException.class,
          "another protection domain",
          () -> request.toTarget(ofOther, target, KEY));
    }
    sends.send(0).local(b.memory, 0, 64).toTarget(toB, target, KEY);
    notPosted(sends, "another protection domain");
    refused(
        IllegalArgumentException.class,
        "DCT number must be 0 to 16777215",
        () -> sends.send(0).toTarget(toB, 1 << 24, KEY));
    refused(IllegalStateException.class, "is not formatted", () -> sends.toTarget(0, toB, 1, KEY));
    refused(
        IllegalArgumentException.class,
        "does not use a DC target",
        () -> sends.localInvalidate(0, 1).toTarget(toB, target, KEY));
    QueuePair sender =
        a.mlx5
            .dcInitiator(a.domain)
            .sendCompletions(a.completions)
            .sendOperations(SendOperation.SEND)
            .create();
    sender.activate();
    refused(
        IllegalArgumentException.class,
        "sendOperations([SEND])",
        () -> assertEquals(0, sender.post(oneWrite(b.memory.rkey()))));
  }

  @DeviceTest
  void otherQueuePairsHaveNoDcTargets() {
    QueuePair connected =
        QueuePair.builder(a.domain, QueuePairType.RC)
            .completions(a.completions)
            .capacity(QueuePairCapacity.of(1).withSendSges(2).withMaxInlineData(32))
            .sendOperations(SendOperation.SEND)
            .create();
    connected.connect(connected.localAddress());
    refused(
        IllegalArgumentException.class,
        "only DC initiators use",
        () -> assertEquals(0, connected.post(oneSend())));
    try (Posting posting = connected.startPosting()) {
      PostingRequest request = posting.send();
      refused(
          IllegalStateException.class,
          "only requests of DC initiators",
          () -> request.toTarget(toB, target, KEY));
    }
  }

  @DeviceTest
  void queuePairsThatDoNotSuitDcAreRefused() {
    refused(
        IllegalStateException.class,
        "call sharedReceiveQueue",
        () -> a.mlx5.dcTarget(a.domain, KEY).receiveCompletions(a.completions).create());
    refused(
        IllegalStateException.class,
        "no completion queue for receive requests",
        () -> a.mlx5.dcTarget(a.domain, KEY).sharedReceiveQueue(a.received).create());
    refused(
        IllegalStateException.class,
        "no completion queue for send requests",
        () -> a.mlx5.dcInitiator(a.domain).create());
    refused(
        IllegalArgumentException.class,
        "receives no messages",
        () -> a.mlx5.dcInitiator(a.domain).sharedReceiveQueue(a.received));
    refused(
        IllegalArgumentException.class,
        "at least one operation",
        () -> a.mlx5.dcInitiator(a.domain).sendOperations());
    refused(
        IllegalArgumentException.class,
        "has no send queue",
        () -> a.mlx5.dcTarget(a.domain, KEY).sendOperations(SendOperation.SEND));
    refused(
        IllegalArgumentException.class,
        "Mlx5Device.dcInitiator()",
        () -> QueuePair.builder(a.domain, QueuePairType.DC_INITIATOR));
    refused(
        IllegalArgumentException.class,
        "Mlx5Device.dcInitiator()",
        () -> QueuePair.builder(a.domain, QueuePairType.DC_TARGET));
    assertThrows(IllegalArgumentException.class, () -> a.mlx5.dcInitiator(b.domain));
    assertThrows(IllegalArgumentException.class, () -> a.mlx5.dcTarget(b.domain, KEY));
    assertThrows(
        IllegalArgumentException.class,
        () -> a.mlx5.dcTarget(a.domain, KEY).sharedReceiveQueue(b.received));
    VerbsException failure =
        assertThrows(
            VerbsException.class,
            () ->
                a.mlx5
                    .dcInitiator(a.domain)
                    .sendCompletions(a.completions)
                    .capacity(QueuePairCapacity.of(1 << 20))
                    .create());
    assertTrue(failure.getMessage().contains("more than the maximum"), failure::getMessage);
    refused(
        IllegalStateException.class,
        "no receive queue of its own",
        () -> assertEquals(0, a.initiator.post(new ReceiveList(1, 1))));
    refused(
        IllegalStateException.class,
        "no send queue of its own",
        () -> assertEquals(0, b.target.post(oneSend())));
    refused(IllegalStateException.class, "no send queue", b.target::startPosting);
  }

  @DeviceTest
  void closedObjectsAreRefused() {
    SendList sends = oneSend();
    toB.close();
    assertThrows(IllegalStateException.class, () -> a.initiator.post(sends));
    try (Posting posting = a.initiator.startPosting()) {
      PostingRequest request = posting.send();
      assertThrows(IllegalStateException.class, () -> request.toTarget(toB, target, KEY));
    }
    toB = a.handleFor(b);
    SendList again = oneSend();
    a.initiator.close();
    assertThrows(IllegalStateException.class, () -> a.initiator.post(again));
    b.received.close();
    assertFalse(b.target.isOpen(), "it is closed before its shared receive queue");
    assertThrows(IllegalStateException.class, () -> b.target.state());
    assertEquals(target, b.target.number());
    a.context.close();
    assertThrows(IllegalStateException.class, () -> Mlx5Device.of(a.context));
    assertThrows(
        IllegalStateException.class,
        () -> a.mlx5.dcInitiator(a.domain).sendCompletions(a.completions).create());
  }

  @DeviceTest
  void aQueuePairThatIsNotReadyPostsNothing() {
    QueuePair made = a.newInitiator();
    SendList sends = oneSend();
    refused(
        IllegalStateException.class,
        "posting requires state RTS",
        () -> assertEquals(0, made.post(sends)));
    made.activate();
    b.receive(1, 1024, 64);
    assertEquals(1, made.post(sends));
    a.expect(CompletionStatus.SUCCESS);
  }

  @DeviceTest
  void theDeviceReportsItsLimits() {
    assertEquals(a.context, a.mlx5.context());
    assertTrue(a.mlx5.maxDcReadsAsInitiator().orElse(1) > 0);
    assertEquals(
        a.mlx5.maxDcReadsAsInitiator().isPresent(), a.mlx5.maxDcReadsAsTarget().isPresent());
    assertEquals(0, a.initiator.capacity().receiveRequests());
    assertTrue(a.initiator.capacity().sendRequests() >= DcSide.DEPTH);
    assertTrue(a.initiator.sendOperations().contains(SendOperation.ATOMIC_FETCH_AND_ADD));
  }

  @DeviceTest
  void postingAndPollingAllocateNothing() throws Throwable {
    SendList writes = list(8);
    for (int i = 0; i < writes.size(); i++) {
      writes
          .write(i)
          .local(a.memory, 0, 64)
          .remote(remote(0), b.memory.rkey())
          .toTarget(toB, target, KEY)
          .signaled();
    }
    QueuePair second = b.newTarget(b.received, KEY + 1);
    second.activate();
    MethodHandle allocatedBytes = allocatedBytes();
    int rounds = 20_000;
    long before = 0;
    for (int round = -rounds; round < rounds; round++) {
      if (round == 0) {
        before = (long) allocatedBytes.invokeExact();
      }
      writes.toTarget(0, toB, second.number(), KEY + 1); // And back to the other.
      if (a.initiator.post(writes) != writes.size()) {
        throw new AssertionError("the queue is full");
      }
      for (int done = 0; done < writes.size(); ) {
        done += a.completions.poll(polled);
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

  @DeviceTest
  void devicesOfOtherProvidersAreRefused() {
    try (SoftNetwork other = SoftNetwork.of("1");
        Context context = other.device().open()) {
      VerbsException failure = assertThrows(VerbsException.class, () -> Mlx5Device.of(context));
      assertEquals(Errno.EOPNOTSUPP, failure.errno());
      assertTrue(failure.getMessage().contains("libmlx5 is not the provider"), failure::getMessage);
    }
  }
}
