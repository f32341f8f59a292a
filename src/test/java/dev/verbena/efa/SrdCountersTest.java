package dev.verbena.efa;

import static dev.verbena.testing.DeviceKind.EFA;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Environment;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.CompletionStatus;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionCounter;
import dev.verbena.verbs.CompletionCounter.Operation;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.util.EnumSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** Completion counters of two EFA. */
@On(value = EFA, reason = "CompletionCounterTest has those of software devices")
class SrdCountersTest {
  private SrdSide a;
  private SrdSide b;
  private AddressHandle toB;
  private QueuePair from;
  private QueuePair to;

  @BeforeEach
  void open() {
    a = new SrdSide(Rig.a());
    b = new SrdSide(Rig.b());
    toB = a.handleFor(b);
    b.handleFor(a);
    from = queuePair(a);
    to = queuePair(b);
  }

  @AfterEach
  void close() {
    if (a != null) {
      a.close();
    }
    if (b != null) {
      b.close();
    }
  }

  private static QueuePair queuePair(SrdSide side) {
    return side.efa.queuePair(side.domain).completions(side.completions.queue()).create();
  }

  private static CompletionCounter counter(SrdSide side) {
    return CompletionCounter.create(side.context, CompletionCounter.Type.WRS);
  }

  private void activate() {
    from.setup().rnrRetryCount(1);
    from.activate();
    to.activate();
  }

  private SendList list() {
    return new SendList(1, 1);
  }

  private int qkey() {
    return to.localAddress().queueKey();
  }

  private void run(SendList list, CompletionStatus status) {
    assertEquals(1, from.post(list));
    a.expect(status);
  }

  private void write(int key, CompletionStatus status) {
    SendList list = list();
    list.write(0).local(a.memory, 0, 64).remote(b.memory.start(), key).to(toB, to.number(), qkey());
    run(list, status);
  }

  private void read() {
    SendList list = list();
    list.read(0)
        .local(a.memory, 0, 64)
        .remote(b.memory.start(), b.memory.rkey())
        .to(toB, to.number(), qkey());
    run(list, CompletionStatus.SUCCESS);
  }

  private void send(int bytes, CompletionStatus status) {
    SendList list = list();
    list.send(0).local(a.memory, 0, bytes).to(toB, to.number(), qkey());
    run(list, status);
  }

  private void receive(int bytes) {
    ReceiveList receives = new ReceiveList(1, 1);
    receives.local(0, b.memory, 0, bytes);
    assertEquals(1, to.post(receives));
  }

  /** The emulated NIC counts before it completes; which is first on an EFA is not published. */
  private static void assertCounts(long successes, long errors, CompletionCounter counter) {
    if (Environment.current() != Environment.EFA) {
      Await.until("the count", () -> counter.value() + counter.errors() == successes + errors);
    }
    assertEquals(successes, counter.value());
    assertEquals(errors, counter.errors());
  }

  @DeviceTest
  void eachKindOfOperationsIsCounted() {
    CompletionCounter sends = counter(a);
    CompletionCounter rdma = counter(a);
    CompletionCounter receives = counter(b);
    CompletionCounter written = counter(b);
    CompletionCounter read = counter(b);
    sends.attach(from, Operation.SEND);
    rdma.attach(from, Operation.RDMA_WRITE, Operation.RDMA_READ);
    receives.attach(to, Operation.RECV);
    written.attach(to, Operation.REMOTE_RDMA_WRITE);
    read.attach(to, Operation.REMOTE_RDMA_READ);
    activate();
    send(64, CompletionStatus.RNR_RETRY_EXC_ERR);
    for (int i = 0; i < 3; i++) {
      receive(64);
      send(64, CompletionStatus.SUCCESS);
      b.expect(CompletionStatus.SUCCESS);
    }
    receive(16);
    send(64, CompletionStatus.REM_INV_REQ_ERR);
    b.expect(CompletionStatus.LOC_LEN_ERR);
    write(b.memory.rkey(), CompletionStatus.SUCCESS);
    write(b.memory.rkey(), CompletionStatus.SUCCESS);
    write(b.memory.rkey() + 256, CompletionStatus.REM_ACCESS_ERR);
    read();
    assertCounts(3, 2, sends);
    assertCounts(3, 1, rdma);
    assertCounts(3, 1, receives);
    assertCounts(2, 0, written);
    assertCounts(1, 0, read);
  }

  @DeviceTest
  void queuePairsShareACounterThatIsSet() {
    CompletionCounter counter = counter(a);
    QueuePair other = queuePair(a);
    counter.attach(from, Operation.RDMA_WRITE);
    counter.attach(other, Operation.RDMA_WRITE);
    activate();
    other.activate();
    counter.value(40);
    counter.errors(7);
    counter.addErrors(2);
    write(b.memory.rkey(), CompletionStatus.SUCCESS);
    from = other;
    write(b.memory.rkey(), CompletionStatus.SUCCESS);
    write(0x77700, CompletionStatus.REM_ACCESS_ERR);
    counter.add(100);
    assertCounts(142, 10, counter);
  }

  @DeviceTest
  void aPairHasOneCounterForEachKindOfOperations() {
    CompletionCounter counter = counter(a);
    counter.attach(from, Operation.SEND, Operation.RDMA_READ);
    VerbsException busy =
        assertThrows(
            VerbsException.class,
            () -> counter.attach(from, Operation.RDMA_WRITE, Operation.RDMA_READ));
    assertEquals(Errno.EBUSY, busy.errno());
    activate();
    VerbsException late =
        assertThrows(VerbsException.class, () -> counter.attach(from, Operation.RDMA_WRITE));
    assertEquals(Errno.EINVAL, late.errno());
    write(b.memory.rkey(), CompletionStatus.SUCCESS);
    read();
    assertCounts(1, 0, counter);
    counter.close();
    assertFalse(from.isOpen(), "closed before its counter");
  }

  @DeviceTest
  void theDeviceReportsWhatItCounts() {
    var caps = CompletionCounter.capabilities(a.context);
    assertEquals(EnumSet.allOf(Operation.class), caps.operations());
    assertTrue(a.efa.capabilities().contains(EfaCapability.COMP_CNTR));
    for (int i = 0; i < caps.maxCounters(); i++) {
      counter(a);
    }
    VerbsException tooMany = assertThrows(VerbsException.class, () -> counter(a));
    assertEquals(Errno.ENOMEM, tooMany.errno());
    VerbsException bytes =
        assertThrows(
            VerbsException.class,
            () -> CompletionCounter.create(b.context, CompletionCounter.Type.BYTES));
    assertTrue(bytes.isUnsupported(), bytes::getMessage);
  }
}
