package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionField;
import dev.verbena.values.CompletionFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/**
 * Buffers and queues of a parent domain that allows memory that is shared with the host, as
 * rdma-core's test_buf.py uses them in a guest of confidential computing.
 */
@On(
    value = SOFTWARE,
    reason = "Soft-RoCE has no parent domains, and rdma-core 44 of the emulated NIC no buffers")
class UnprotectedBuffersTest {
  private static final int PAGE = 4096;
  private static final int SIZE = 1024;

  private static final AccessFlag[] ALL = {
    AccessFlag.LOCAL_WRITE,
    AccessFlag.REMOTE_WRITE,
    AccessFlag.REMOTE_READ,
    AccessFlag.REMOTE_ATOMIC
  };

  private Pair pair;
  private ParentDomain domainA;
  private ParentDomain domainB;
  private ExtendedCompletionQueue completionsA;
  private ExtendedCompletionQueue completionsB;

  @BeforeEach
  void open() {
    pair = new Pair();
    domainA = domain(pair.a);
    domainB = domain(pair.b);
    completionsA = completions(domainA);
    completionsB = completions(domainB);
  }

  @AfterEach
  void close() {
    pair.close();
  }

  private static ParentDomain domain(Pair.Side side) {
    return ParentDomain.builder(side.domain).allowUnprotectedMemory().create();
  }

  private static ExtendedCompletionQueue completions(ParentDomain domain) {
    return domain
        .context()
        .completionQueue(64)
        .parentDomain(domain)
        .createExtended(CompletionField.BYTE_LEN, CompletionField.IMM);
  }

  private void connect(QueuePairType type) {
    pair.a.queuePair = queuePair(domainA, type, completionsA);
    pair.b.queuePair = queuePair(domainB, type, completionsB);
    pair.setup();
  }

  private static QueuePair queuePair(
      ParentDomain domain, QueuePairType type, CompletionQueue completions) {
    return QueuePair.builder(domain, type)
        .completions(completions)
        .capacity(QueuePairCapacity.of(8))
        .create();
  }

  private void run(SendList list) {
    assertEquals(1, pair.a.queuePair.post(list));
    try (CompletionCursor sent = CqExTest.next(completionsA)) {
      assertEquals(CompletionStatus.SUCCESS, sent.status());
    }
  }

  /** Sends messages of some length from a region to another. */
  private void messagesArrive(MemoryRegion from, MemoryRegion to, int length) {
    connect(QueuePairType.RC);
    SendList list = new SendList(1, 1);
    list.send(0).local(from, 0, length).signaled();
    for (int i = 1; i <= 5; i++) {
      from.memory().fill((byte) i);
      pair.b.receive(i, to);
      run(list);
      try (CompletionCursor received = CqExTest.next(completionsB)) {
        assertEquals(CompletionStatus.SUCCESS, received.status());
        assertEquals(i, received.id());
        assertEquals(length, received.byteLength());
      }
      assertEquals(-1, part(from, 0, length).mismatch(part(to, 0, length)));
    }
  }

  private static MemorySegment part(MemoryRegion region, long offset, long length) {
    return region.memory().asSlice(offset, length);
  }

  private static MemoryRegion buffer(ProtectionDomain domain, long size, AccessFlag... access) {
    return ProviderBuffer.allocate(domain, size).register(access);
  }

  @DeviceTest
  void messagesGoFromBufferToBuffer() {
    messagesArrive(buffer(domainA, SIZE), buffer(domainB, SIZE, AccessFlag.LOCAL_WRITE), SIZE);
  }

  @DeviceTest
  void messagesGoThroughRegionsOfTheExtendedFunction() {
    MemoryRegion from = ProviderBuffer.allocate(domainA, SIZE).registration(0, SIZE).register();
    MemoryRegion to =
        ProviderBuffer.allocate(domainB, SIZE)
            .registration(0, SIZE)
            .access(AccessFlag.LOCAL_WRITE)
            .register();
    messagesArrive(from, to, SIZE);
  }

  @DeviceTest
  void messagesOfSeveralPagesArrive() {
    int size = 4 * PAGE;
    messagesArrive(buffer(domainA, size), buffer(domainB, size, AccessFlag.LOCAL_WRITE), size);
  }

  @DeviceTest
  void messagesGoToAPartOfABuffer() {
    ProviderBuffer target = ProviderBuffer.allocate(domainB, 5 * PAGE);
    MemoryRegion from =
        ProviderBuffer.allocate(domainA, 5 * PAGE).register(PAGE, 2 * PAGE, AccessFlag.LOCAL_WRITE);
    messagesArrive(from, target.register(PAGE, 2 * PAGE, AccessFlag.LOCAL_WRITE), 2 * PAGE);
    assertEquals(0, target.memory().get(ValueLayout.JAVA_BYTE, PAGE - 1));
    assertEquals(0, target.memory().get(ValueLayout.JAVA_BYTE, 3 * PAGE));
  }

  @DeviceTest
  void datagramsArrive() {
    connect(QueuePairType.UD);
    MemoryRegion from = buffer(domainA, SIZE);
    MemoryRegion to = buffer(domainB, SIZE + 40, AccessFlag.LOCAL_WRITE);
    QueuePairAddress b = pair.b.queuePair.localAddress();
    from.memory().fill((byte) 9);
    pair.b.receive(1, to);
    SendList list = new SendList(1, 1);
    list.send(0).local(from, 0, SIZE).to(pair.handleToB(), b.number(), b.queueKey()).signaled();
    run(list);
    try (CompletionCursor received = CqExTest.next(completionsB)) {
      assertEquals(CompletionStatus.SUCCESS, received.status());
      assertEquals(SIZE + 40, received.byteLength());
    }
    assertEquals(-1, from.memory().mismatch(part(to, 40, SIZE)));
  }

  @DeviceTest
  void peersReadAndWriteBuffers() {
    connect(QueuePairType.RC);
    MemoryRegion here = buffer(domainA, 2 * SIZE, AccessFlag.LOCAL_WRITE);
    MemoryRegion there = buffer(domainB, 2 * SIZE, ALL);
    part(there, 0, SIZE).fill((byte) 5);
    part(here, SIZE, SIZE).fill((byte) 6);
    SendList list = new SendList(1, 1);
    list.read(0).local(here, 0, SIZE).remote(there.start(), there.rkey()).signaled();
    run(list);
    assertEquals(-1, part(here, 0, SIZE).mismatch(part(there, 0, SIZE)));
    pair.b.receive(3, there);
    list.writeWithImmediate(0, 0x77)
        .local(here, SIZE, SIZE)
        .remote(there.start() + SIZE, there.rkey())
        .signaled();
    run(list);
    try (CompletionCursor received = CqExTest.next(completionsB)) {
      assertEquals(CompletionStatus.SUCCESS, received.status());
      assertEquals(3, received.id());
      assertTrue(received.has(CompletionFlag.WITH_IMM));
      assertEquals(0x77, received.immediate());
    }
    assertEquals(-1, here.memory().mismatch(there.memory()));
  }

  @DeviceTest
  void peersChangeBuffersAtomically() {
    connect(QueuePairType.RC);
    MemoryRegion found = buffer(domainA, 8, AccessFlag.LOCAL_WRITE);
    MemoryRegion counter = buffer(domainB, 8, ALL);
    SendList list = new SendList(1, 1);
    list.fetchAndAdd(0, 4).local(found, 0, 8).remote(counter.start(), counter.rkey()).signaled();
    for (int i = 0; i < 5; i++) {
      run(list);
      assertEquals(4L * i, found.memory().get(ValueLayout.JAVA_LONG, 0));
      assertEquals(4L * (i + 1), counter.memory().get(ValueLayout.JAVA_LONG, 0));
    }
  }

  @DeviceTest
  void oneBufferHasManyRegions() {
    ProviderBuffer buffer = ProviderBuffer.allocate(domainA, 2 * PAGE);
    MemoryRegion first = buffer.register(0, PAGE, AccessFlag.LOCAL_WRITE);
    MemoryRegion second = buffer.register(PAGE, PAGE, AccessFlag.LOCAL_WRITE);
    assertNotEquals(first.lkey(), second.lkey());
    assertEquals(buffer.memory().address(), first.start());
    assertEquals(first.start() + PAGE, second.start());
    first.memory().fill((byte) 1);
    second.memory().fill((byte) 2);
    assertEquals(1, buffer.memory().get(ValueLayout.JAVA_BYTE, PAGE - 1));
    assertEquals(2, buffer.memory().get(ValueLayout.JAVA_BYTE, PAGE));
  }

  @DeviceTest
  void whatIsNotOfTheBufferOrOfItsDomainIsNotRegistered() {
    ProviderBuffer buffer = ProviderBuffer.allocate(domainA, PAGE);
    ProtectionDomain other = pair.a.context.allocateProtectionDomain();
    ParentDomain otherParent = ParentDomain.builder(other).allowUnprotectedMemory().create();
    long start = buffer.memory().address();
    refused(otherParent, buffer, start, PAGE);
    refused(domainA, buffer, start, 2 * PAGE);
    refused(domainA, buffer, start + PAGE, PAGE);
    assertThrows(IndexOutOfBoundsException.class, () -> buffer.register(0, 2 * PAGE));
    assertThrows(IndexOutOfBoundsException.class, () -> buffer.register(PAGE, PAGE));
  }

  private static void refused(
      ProtectionDomain domain, ProviderBuffer buffer, long address, long length) {
    long pd = domain.segment().address();
    long handle = buffer.segment().address();
    VerbsException refused =
        assertThrows(
            VerbsException.class,
            () -> domain.verbs().ibv_reg_buf_mr(pd, handle, address, length, 0));
    assertEquals(Errno.EINVAL, refused.errno());
  }
}
