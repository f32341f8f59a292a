package dev.verbena.efa;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.soft.InSimulation;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** SRD between software devices, through a network that loses, repeats and delays packets. */
@Tag("host")
class SoftSrdTest {
  private static final int LARGE = 1 << 20;

  /** An RNR retry count without limit. */
  private static final int ENDLESS = 7;

  private final SoftNetwork network = SoftNetwork.create().profile("efa");
  private SrdSide a;
  private SrdSide b;
  private AddressHandle toB;
  private AddressHandle toA;

  @BeforeEach
  void open() {
    a = new SrdSide(device(1), ENDLESS);
    b = new SrdSide(device(2), ENDLESS);
    toB = a.handleFor(b);
    toA = b.handleFor(a);
  }

  private Device device(int host) {
    return network.addDevice("soft" + host, InetAddress.ofLiteral("192.0.2." + host));
  }

  @AfterEach
  void close() {
    a.close();
    b.close();
    network.close();
  }

  private void badNetwork() {
    network.faults().seed(7).loss(0.05).duplicate(0.05).reorder(0.05).corrupt(0.01);
  }

  private SendList sends(int requests) {
    return new SendList(requests, 1, 0);
  }

  /** Posts the send requests as there is room for them, and awaits their success. */
  private void run(SendList list) {
    Completions completions = new Completions(SrdSide.DEPTH);
    int posted = 0;
    for (int completed = 0; completed < list.size(); ) {
      if (posted < list.size()) {
        posted += a.queuePair.post(list, posted, list.size() - posted);
      }
      int polled = a.completions.queue().poll(completions);
      for (int i = 0; i < polled; i++) {
        assertEquals(CompletionStatus.SUCCESS, completions.status(i));
      }
      completed += polled;
    }
  }

  @Test
  void largeMemoryIsWrittenAndReadThroughABadNetwork() {
    badNetwork();
    MemoryRegion from = large(a);
    MemoryRegion to = large(b);
    for (int i = 0; i < LARGE / Integer.BYTES; i++) {
      from.memory().setAtIndex(ValueLayout.JAVA_INT, i, i * 0x9e37_79b9);
    }
    b.receive(1, 0, 1);
    SendList write = sends(1);
    write
        .writeWithImmediate(0, 5)
        .local(from, 0, LARGE)
        .remote(to.start(), to.rkey())
        .to(toB, b.queuePair.number(), b.address().queueKey());
    assertEquals(1, a.queuePair.post(write));
    Completions received = b.completion();
    assertEquals(LARGE, received.byteLength(0));
    assertEquals(-1, from.memory().mismatch(to.memory()), "all data are there");
    a.expect(CompletionStatus.SUCCESS);
    from.memory().fill((byte) 0);
    SendList read = sends(1);
    read.read(0)
        .local(from, 0, LARGE)
        .remote(to.start(), to.rkey())
        .to(toB, b.queuePair.number(), b.address().queueKey());
    run(read);
    assertEquals(-1, from.memory().mismatch(to.memory()));
  }

  private static MemoryRegion large(SrdSide side) {
    return side.domain.allocateMemory(
        LARGE, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE);
  }

  @Test
  void messagesThatArePostedTogetherArriveInAnotherOrder() {
    for (int i = 0; i < SrdSide.DEPTH; i++) {
      b.receive(i, 0, 64);
    }
    SendList list = sends(SrdSide.DEPTH);
    for (int i = 0; i < SrdSide.DEPTH; i++) {
      list.sendWithImmediate(i, i)
          .local(a.memory, 0, 64)
          .to(toB, b.queuePair.number(), b.address().queueKey());
    }
    assertEquals(SrdSide.DEPTH, a.queuePair.post(list));
    List<Integer> arrived = new ArrayList<>();
    for (int i = 0; i < SrdSide.DEPTH; i++) {
      arrived.add(b.completion().immediate(0));
    }
    assertNotEquals(arrived.stream().sorted().toList(), arrived);
  }

  @Test
  void aReceiverThatIsNotReadyDoesNotDelayOthers() {
    SendList unready = sends(SrdSide.DEPTH - 1);
    for (int i = 0; i < unready.size(); i++) {
      unready.send(i).local(a.memory, 0, 64).to(toB, b.queuePair.number(), b.address().queueKey());
    }
    assertEquals(unready.size(), a.queuePair.post(unready));
    SendList writes = sends(1);
    writes
        .write(0)
        .id(99)
        .local(a.memory, 0, 64)
        .remote(b.memory.start(), b.memory.rkey())
        .to(toB, b.queuePair.number(), b.address().queueKey());
    for (int i = 0; i < 1000; i++) {
      assertEquals(1, a.queuePair.post(writes));
      assertEquals(99, a.completion().id(0));
    }
    for (int i = 0; i < unready.size(); i++) {
      b.receive(i, 0, 64);
      a.expect(CompletionStatus.SUCCESS);
    }
  }

  @Test
  void aReceiveRequestThatIsTooShortFailsBothRequests() {
    b.receive(1, 0, 16);
    SendList list = sends(1);
    list.send(0).local(a.memory, 0, 64).to(toB, b.queuePair.number(), b.address().queueKey());
    assertEquals(1, a.queuePair.post(list));
    b.expect(CompletionStatus.LOC_LEN_ERR);
    a.expect(CompletionStatus.REM_INV_REQ_ERR);
  }

  @Test
  void aMessageThatIsLongerThanTheMtuFails() {
    int longest = Math.toIntExact(a.context.port(1).attributes().maxMessageSize());
    SendList list = sends(1);
    list.send(0)
        .local(a.memory, 0, longest + 1)
        .to(toB, b.queuePair.number(), b.address().queueKey());
    assertEquals(1, a.queuePair.post(list));
    a.expect(CompletionStatus.LOC_LEN_ERR);
    b.receive(1, 0, longest);
    list.send(0).local(a.memory, 0, longest).to(toB, b.queuePair.number(), b.address().queueKey());
    run(list);
    b.expect(CompletionStatus.SUCCESS);
  }

  @Test
  @InSimulation
  void aQueuePairThatDoesNotExistDoesNotAnswer() {
    SendList list = sends(1);
    list.send(0).local(a.memory, 0, 64).to(toB, b.queuePair.number() + 1, 1);
    assertEquals(1, a.queuePair.post(list));
    a.expect(CompletionStatus.RESP_TIMEOUT_ERR);
  }

  @Test
  void otherSoftwareDevicesAreNoEfa() {
    try (SoftNetwork other = SoftNetwork.of("1");
        Context context = other.device().open()) {
      VerbsException failure = assertThrows(VerbsException.class, () -> EfaDevice.of(context));
      assertEquals(Errno.EOPNOTSUPP, failure.errno());
      assertTrue(failure.getMessage().contains("is no EFA"), failure::getMessage);
    }
  }

  @Test
  void numbersOfAddressHandlesAreUsedAgain() {
    int number = a.efa.number(toB);
    try (AddressHandle second = a.handleFor(b)) {
      assertEquals(number, a.efa.number(second), "handles for one device share it");
      try (AddressHandle self = a.handleFor(a)) {
        assertNotEquals(number, a.efa.number(self));
      }
    }
    toB.close();
    toA.close();
    try (AddressHandle again = a.handleFor(a)) {
      assertEquals(number, a.efa.number(again));
    }
  }

  @Test
  void unusedReceivesAreFlushed() {
    assertEquals(2, b.queuePair.post(new ReceiveList(2, 1)));
    b.queuePair.fail();
    b.expect(CompletionStatus.WR_FLUSH_ERR);
    b.expect(CompletionStatus.WR_FLUSH_ERR);
  }
}
