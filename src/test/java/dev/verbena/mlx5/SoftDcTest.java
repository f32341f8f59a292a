package dev.verbena.mlx5;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.address.AddressVector;
import dev.verbena.address.Gid;
import dev.verbena.address.GlobalRoute;
import dev.verbena.internal.Mlx5dv;
import dev.verbena.internal.Verbs;
import dev.verbena.internal.life.Core;
import dev.verbena.raw.ibv_qp_init_attr_ex;
import dev.verbena.raw.rdma_h;
import dev.verbena.soft.InSimulation;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.Registry;
import dev.verbena.soft.device.SoftWindow;
import dev.verbena.soft.transport.SoftQueuePair;
import dev.verbena.soft.transport.SoftSendRequest;
import dev.verbena.testing.Await;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.MemoryWindowType;
import dev.verbena.values.QueuePairAttributes;
import dev.verbena.values.QueuePairState;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.MemoryWindow;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SharedReceiveQueue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** DC between software devices, through a network that loses, repeats and delays packets. */
@Tag("host")
@InSimulation
class SoftDcTest extends SoftDcEnds {
  private static final int LARGE = 1 << 20;

  private void badNetwork() {
    network.faults().seed(7).loss(0.03).duplicate(0.05).reorder(0.05).corrupt(0.01);
  }

  private static MemoryRegion large(DcSide side) {
    return side.domain.allocateMemory(
        LARGE, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE);
  }

  // Through a bad network

  @Test
  void largeMemoryIsWrittenAndReadThroughABadNetwork() {
    badNetwork();
    QueuePair initiator = a.patientInitiator();
    MemoryRegion from = large(a);
    MemoryRegion to = large(b);
    for (int i = 0; i < LARGE / Integer.BYTES; i++) {
      from.memory().setAtIndex(ValueLayout.JAVA_INT, i, i * 0x9e37_79b9);
    }
    b.receive(1, 0, 1);
    SendList list = new SendList(1, 1);
    to(list.writeWithImmediate(0, 5).local(from, 0, LARGE).remote(to.start(), to.rkey()));
    assertEquals(1, initiator.post(list));
    assertEquals(LARGE, b.completion().byteLength(0));
    assertEquals(-1, from.memory().mismatch(to.memory()), "all data are there");
    a.expect(CompletionStatus.SUCCESS);
    from.memory().fill((byte) 0);
    to(list.read(0).local(from, 0, LARGE).remote(to.start(), to.rkey()));
    assertEquals(1, initiator.post(list));
    a.expect(CompletionStatus.SUCCESS);
    assertEquals(-1, from.memory().mismatch(to.memory()));
  }

  /** Each initiator sends numbers to two targets in turn: they arrive once, and in order. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3})
  void severalInitiatorsReachTwoTargets(int seed) {
    if (seed == 0) {
      badNetwork();
    } else {
      network.faults().seed(seed).strict();
    }
    int initiators = 4;
    int messages = 60;
    QueuePair second = b.newTarget(b.received, KEY + 1);
    second.activate();
    QueuePair[] all = new QueuePair[initiators];
    Arrays.setAll(all, _ -> a.patientInitiator());
    SendList list = new SendList(1, 1);
    int[] posted = new int[initiators];
    int[][] last = new int[initiators][];
    Arrays.setAll(last, _ -> new int[] {-1, -3});
    Completions completions = new Completions(DcSide.DEPTH);
    int sent = 0;
    int received = 0;
    int done = 0;
    int idle = 0;
    for (int i = 0; i < DcSide.DEPTH; i++) {
      b.receive(i, 1024 * i, 16);
    }
    while (sent < initiators * messages || received < initiators * messages) {
      for (int i = 0; i < initiators; i++) {
        int number = posted[i];
        if (number < messages) {
          boolean isFirst = number % 3 != 0;
          list.sendWithImmediate(0, i << 16 | number)
              .local(a.memory, 0, 8)
              .toTarget(toB, isFirst ? target : second.number(), isFirst ? KEY : KEY + 1)
              .signaled();
          posted[i] += all[i].post(list);
        }
      }
      int polled = a.completions.poll(completions);
      for (int i = 0; i < polled; i++) {
        assertEquals(CompletionStatus.SUCCESS, completions.status(i));
      }
      sent += polled;
      polled = b.completions.poll(completions);
      for (int i = 0; i < polled; i++) {
        assertEquals(CompletionStatus.SUCCESS, completions.status(i));
        int number = completions.immediate(i);
        boolean isFirst = (number & 0xffff) % 3 != 0;
        int before = last[number >> 16][isFirst ? 0 : 1];
        assertEquals(
            isFirst && before % 3 == 1 ? before + 1 : before + (isFirst ? 2 : 3), number & 0xffff);
        last[number >> 16][isFirst ? 0 : 1] = number & 0xffff;
        assertEquals(isFirst ? target : second.number(), completions.queuePairNumber(i));
        assertEquals(all[number >> 16].number(), completions.sourceQueuePair(i));
        b.receive(0, 0, 16);
      }
      idle = received + polled + sent == done ? idle + 1 : 0;
      received += polled;
      done = received + sent;
      Await.spin(idle);
    }
  }

  @Test
  void readsOfTwoInitiatorsAreAnsweredSideBySide() {
    QueuePair[] initiators = {a.patientInitiator(), a.patientInitiator()};
    MemoryRegion from = large(b);
    from.memory().fill((byte) 7);
    List<MemoryRegion> into = List.of(large(a), large(a));
    network.trace(trace::add);
    SendList list = new SendList(1, 1);
    soft(initiators[0])
        .device
        .engine
        .locked(
            () -> {
              for (int i = 0; i < 2; i++) {
                to(list.read(0).local(into.get(i), 0, LARGE).remote(from.start(), from.rkey()));
                assertEquals(1, initiators[i].post(list));
              }
            });
    a.expect(CompletionStatus.SUCCESS);
    a.expect(CompletionStatus.SUCCESS);
    into.forEach(region -> assertEquals(-1, region.memory().mismatch(from.memory())));
    List<String> order =
        trace.stream()
            .filter(line -> line.contains("READ_RESPONSE"))
            .map(line -> line.replaceFirst(".* qpn=(\\S+) .*", "$1"))
            .toList();
    String first = order.getFirst();
    String other = order.stream().filter(n -> !n.equals(first)).findFirst().orElseThrow();
    assertTrue(order.indexOf(other) < order.lastIndexOf(first), order::toString);
    assertEquals(0, counters(a).retransmissions);
  }

  // One target at a time

  @Test
  void aRequestToAnotherTargetBeginsWhenThoseBeforeAreAcknowledged() {
    SharedReceiveQueue queue = SharedReceiveQueue.create(b.domain, DcSide.DEPTH);
    QueuePair second = b.newTarget(queue, KEY);
    second.activate();
    QueuePair initiator = a.patientInitiator();
    b.receive(queue, 2, 0, 64);
    SendList list = new SendList(2, 1);
    to(list.send(0).local(a.memory, 0, 8));
    list.send(1).local(a.memory, 0, 8).toTarget(toB, second.number(), KEY).signaled();
    assertEquals(2, initiator.post(list));
    Await.until("two RNR NAKs", () -> counters(a).rnrNaks > 1);
    assertEquals(0, b.completions.poll(new Completions(1)), "the second waits for the first");
    b.receive(1, 0, 64);
    assertEquals(1, b.completion().id(0));
    assertEquals(2, b.completion().id(0));
    a.expect(CompletionStatus.SUCCESS);
    a.expect(CompletionStatus.SUCCESS);
  }

  /** The target's device has two addresses; each request goes where its address handle leads. */
  @Test
  void eachRequestTakesThePathOfItsAddressHandle() {
    Gid linkLocal = b.context.port(1).gid(0);
    AddressHandle other =
        a.domain.createAddressHandle(AddressVector.global(1, new GlobalRoute(linkLocal, 0)));
    network.trace(trace::add);
    b.receive(1, 0, 64);
    b.receive(2, 0, 64);
    SendList list = new SendList(2, 1);
    to(list.send(0).local(a.memory, 0, 8));
    list.send(1).local(a.memory, 0, 8).toTarget(other, target, KEY).signaled();
    assertEquals(2, a.initiator.post(list));
    a.expect(CompletionStatus.SUCCESS);
    a.expect(CompletionStatus.SUCCESS);
    List<String> ways =
        trace.stream()
            .filter(line -> line.contains("SEND_ONLY"))
            .map(line -> line.replaceFirst(".* > (\\S+) .*", "$1"))
            .distinct()
            .toList();
    assertEquals(2, ways.size(), ways::toString);
  }

  /** In C, a request may lack its target. */
  @Test
  void aRequestWithoutATargetFails() {
    SoftQueuePair initiator = soft(a.initiator);
    SoftSendRequest request = initiator.sends.free(0);
    request.opcode = rdma_h.IBV_WR_SEND();
    request.flags = rdma_h.IBV_SEND_SIGNALED();
    initiator.sends.post(1);
    initiator.device.engine.request(initiator.task);
    a.expect(CompletionStatus.LOC_QP_OP_ERR);
  }

  /** Java posts none, C can. */
  @Test
  void aLocalRequestNeedsNoTarget() {
    MemoryWindow window = MemoryWindow.allocate(a.domain, MemoryWindowType.TYPE_2);
    SoftQueuePair initiator = soft(a.initiator);
    SoftSendRequest request = initiator.sends.free(0);
    request.opcode = rdma_h.IBV_WR_BIND_MW();
    request.flags = rdma_h.IBV_SEND_SIGNALED();
    request.window = Registry.at(window.segment().address(), SoftWindow.class);
    request.bindLength = 0;
    initiator.sends.post(1);
    initiator.device.engine.request(initiator.task);
    a.expect(CompletionStatus.SUCCESS);
    assertServes();
  }

  @Test
  void requestsToOneTargetAreSentTogether() {
    network.trace(trace::add);
    for (int i = 0; i < 8; i++) {
      b.receive(i, 0, 64);
    }
    SendList list = new SendList(8, 1);
    for (int i = 0; i < 8; i++) {
      to(list.send(i).local(a.memory, 0, 8));
    }
    assertEquals(8, a.initiator.post(list));
    for (int i = 0; i < 8; i++) {
      a.expect(CompletionStatus.SUCCESS);
    }
    long sessions =
        trace.stream()
            .filter(line -> line.contains("DC_SEND_ONLY"))
            .map(line -> line.replaceFirst(".*session=(\\S+).*", "$1"))
            .distinct()
            .count();
    assertEquals(1, sessions);
  }

  // Failures

  @Test
  void aTargetThatIsClosedWhileInitiatorsSendDoesNotAnswer() {
    QueuePair[] initiators = new QueuePair[3];
    Arrays.setAll(initiators, _ -> a.newInitiator());
    SendList list = new SendList(1, 1);
    to(list.write(0).local(a.memory, 0, 64).remote(b.memory.start(), b.memory.rkey()));
    for (QueuePair initiator : initiators) {
      initiator.activate();
      assertEquals(1, initiator.post(list));
      a.expect(CompletionStatus.SUCCESS);
    }
    b.target.close();
    for (QueuePair initiator : initiators) {
      assertEquals(1, initiator.post(list));
      a.expect(CompletionStatus.RETRY_EXC_ERR);
      assertEquals(QueuePairState.ERR, initiator.state());
    }
    QueuePair next = b.newTarget(b.received, KEY);
    next.activate();
    target = next.number();
    assertServes();
  }

  @Test
  void aDeviceThatIsRemovedDoesNotAnswer() {
    QueuePair initiator = a.patientInitiator();
    SendList list = new SendList(2, 1);
    to(list.send(0).local(a.memory, 0, 8));
    to(list.send(1).local(a.memory, 0, 8));
    assertEquals(2, initiator.post(list)); // There is no receive request: it is repeated.
    Await.until("an RNR NAK", () -> counters(a).rnrNaks > 0);
    network.removeDevice("soft2");
    a.expect(CompletionStatus.RETRY_EXC_ERR);
    a.expect(CompletionStatus.WR_FLUSH_ERR);
  }

  @Test
  void anInitiatorOfARemovedDeviceFlushesItsRequests() {
    QueuePair initiator = a.patientInitiator();
    SendList list = new SendList(1, 1);
    to(list.send(0).local(a.memory, 0, 8));
    assertEquals(1, initiator.post(list)); // There is no receive request: it is repeated.
    network.removeDevice("soft1");
    a.expect(CompletionStatus.WR_FLUSH_ERR);
  }

  @Test
  void memoryThatIsDeregisteredIsRefused() {
    MemoryRegion region = large(b);
    SendList list = new SendList(1, 1);
    to(list.write(0).local(a.memory, 0, 64).remote(region.start(), region.rkey()));
    assertEquals(1, a.initiator.post(list));
    a.expect(CompletionStatus.SUCCESS);
    region.close();
    assertEquals(1, a.initiator.post(list));
    a.expect(CompletionStatus.REM_ACCESS_ERR);
    assertServes();
  }

  @Test
  void aMessageThatIsTooLongFailsBothRequests() {
    b.receive(1, 0, 16);
    send();
    b.expect(CompletionStatus.LOC_LEN_ERR);
    a.expect(CompletionStatus.REM_INV_REQ_ERR);
    assertServes();
  }

  @Test
  void aWrongAccessKeyIsARemoteAccessError() {
    SendList list = new SendList(1, 1);
    list.send(0).local(a.memory, 0, 8).toTarget(toB, target, KEY ^ 1L << 63).signaled();
    assertEquals(1, a.initiator.post(list));
    a.expect(CompletionStatus.REM_ACCESS_ERR);
    assertServes();
  }

  // Creation and limits

  @ParameterizedTest
  @ValueSource(strings = {"efa", "irdma", "erdma", "siw", "rxe"})
  void otherProfilesHaveNoDc(String profile) {
    try (SoftNetwork other = SoftNetwork.of("1,profile=" + profile);
        var context = other.device().open()) {
      VerbsException failure = assertThrows(VerbsException.class, () -> Mlx5Device.of(context));
      assertEquals(Errno.EOPNOTSUPP, failure.errno());
      Mlx5dv functions = Core.of(context).device().provider().library(Mlx5dv.class);
      assertFalse(functions.mlx5dv_is_supported(Core.of(context).device().address()));
      failure =
          assertThrows(
              VerbsException.class,
              () -> functions.mlx5dv_create_qp(context.segment().address(), 0, 0));
      assertEquals(Errno.EOPNOTSUPP, failure.errno());
    }
  }

  /** What libmlx5 and the kernel refuse, and Java does not ask for. */
  @Test
  void queuePairsThatMlx5DoesNotHaveAreRefused() {
    assertEquals(Errno.EINVAL, creation(TARGET, DC, DRIVER, 0, 0)); // no shared receive queue
    assertEquals(Errno.EINVAL, creation(INITIATOR, DC, DRIVER, 0, 1)); // a receive queue
    assertEquals(Errno.EINVAL, creation(INITIATOR, DC, DRIVER, b.received.segment().address(), 0));
    assertEquals(Errno.EINVAL, creation(3, DC, DRIVER, b.received.segment().address(), 0));
    assertEquals(Errno.EINVAL, creation(INITIATOR, DC, rdma_h.IBV_QPT_RC(), 0, 0));
    assertEquals(Errno.EOPNOTSUPP, creation(INITIATOR, 1, DRIVER, 0, 0)); // create_flags
    assertEquals(0, creation(INITIATOR, DC, DRIVER, 0, 0));
  }

  private static final int TARGET = 1;
  private static final int INITIATOR = 2;
  private static final int DC = 2;
  private static final int DRIVER = rdma_h.IBV_QPT_DRIVER();

  /** The errno of mlx5dv_create_qp. */
  private int creation(int dcType, int mask, int type, long srq, int receives) {
    Mlx5dv functions = Core.of(b.context).device().provider().library(Mlx5dv.class);
    CStruct init =
        CStruct.allocate(ibv_qp_init_attr_ex.layout())
            .putLong("send_cq", b.completions.segment().address())
            .putLong("recv_cq", b.completions.segment().address())
            .putLong("srq", srq)
            .putInt("cap.max_recv_wr", receives)
            .putInt("qp_type", type)
            .putInt("comp_mask", rdma_h.IBV_QP_INIT_ATTR_PD())
            .putLong("pd", b.domain.segment().address());
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment dc = arena.allocate(40, Long.BYTES);
      dc.set(ValueLayout.JAVA_LONG, 0, mask);
      dc.set(ValueLayout.JAVA_INT, 16, dcType);
      Verbs verbs = Core.of(b.context).verbs();
      verbs.ibv_destroy_qp(
          functions.mlx5dv_create_qp(b.context.segment().address(), init.address(), dc.address()));
      return 0;
    } catch (VerbsException e) {
      return e.errno();
    }
  }

  @Test
  void connectX7HasDc() {
    try (SoftNetwork other = SoftNetwork.of("1,profile=connectx7");
        var context = other.device().open()) {
      assertEquals(16, Mlx5Device.of(context).maxDcReadsAsTarget().orElseThrow());
      assertEquals(16, Mlx5Device.of(context).maxDcReadsAsInitiator().orElseThrow());
    }
  }

  @Test
  void anInitiatorHasAtMostSixteenReads() {
    QueuePair initiator = a.newInitiator();
    initiator.setup().init();
    initiator.modify(
        QueuePairAttributes.toReadyToReceive(initiator.type())
            .pathMtu(a.context.port(1).attributes().activeMtu())
            .build());
    QueuePairAttributes.Builder tooMany =
        QueuePairAttributes.toReadyToSend(initiator.type()).sendPsn(1).readsAsInitiator(17);
    VerbsException failure =
        assertThrows(VerbsException.class, () -> initiator.modify(tooMany.build()));
    assertTrue(failure.getMessage().contains("at most 16"), failure::getMessage);
  }
}
