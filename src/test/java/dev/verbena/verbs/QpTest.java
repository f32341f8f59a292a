package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.SOFT_ROCE;
import static dev.verbena.testing.Need.ADDRESSES;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.address.AddressVector;
import dev.verbena.address.Gid;
import dev.verbena.address.GidType;
import dev.verbena.address.GlobalRoute;
import dev.verbena.address.Mtu;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.attributes.DeviceAttributes;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.AckTimeout;
import dev.verbena.values.AsyncEventType;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.EnhancedConnectionEstablishment;
import dev.verbena.values.QueuePairAttribute;
import dev.verbena.values.QueuePairAttributes;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.RateLimit;
import dev.verbena.values.RnrTimer;
import dev.verbena.values.SendOperation;
import dev.verbena.values.WorkRequestOpcode;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;

/** Queue pairs: made, moved, asked; as rdma-core's test_qp.py tests them. */
class QpTest {
  private static final QueuePairType[] TYPES = {
    QueuePairType.RC, QueuePairType.UC, QueuePairType.UD
  };

  private static void with(QueuePairType type, Consumer<QueuePair> test) {
    try (Pair pair = new Pair()) {
      test.accept(pair.a.builder(type).create());
    }
  }

  @DeviceTest
  void createsQueuePairs() {
    for (QueuePairType type : TYPES) {
      with(
          type,
          qp -> {
            assertEquals(QueuePairState.RESET, qp.state());
            assertEquals(type, qp.type());
            assertTrue(qp.number() > 0);
            assertTrue(qp.capacity().sendRequests() >= 16, qp.capacity().toString());
            assertTrue(qp.capacity().receiveSges() >= 2, qp.capacity().toString());
            // Kernel 6.1 rounds up what it was asked for, and says so only when queried.
            assertTrue(
                qp.query().capacity().sendRequests() >= qp.capacity().sendRequests(),
                () -> qp.query().capacity().toString());
          });
    }
  }

  @DeviceTest
  void createsExtendedQueuePairs() {
    try (Pair pair = new Pair()) {
      for (QueuePairType type : TYPES) {
        try (QueuePair qp = pair.a.builder(type).sendOperations(SendOperation.SEND).create()) {
          assertEquals(Set.of(SendOperation.SEND), qp.sendOperations());
          assertEquals(QueuePairState.RESET, qp.state());
        }
      }
    }
  }

  @DeviceTest
  void closesOnceWithItsDomain() {
    QueuePair qp;
    try (Pair pair = new Pair(QueuePairType.RC)) {
      qp = pair.a.queuePair;
      pair.a.domain.close();
      assertFalse(qp.isOpen());
      qp.close();
      assertTrue(pair.a.completionQueue.isOpen());
    }
    var thrown = assertThrows(IllegalStateException.class, qp::state);
    assertTrue(thrown.getMessage().contains("queue pair"), thrown.getMessage());
  }

  @DeviceTest
  void capacityBeyondTheDeviceThrows() {
    try (Pair pair = new Pair()) {
      DeviceAttributes device = pair.a.context.deviceAttributes();
      int requests = device.maxQueuePairRequests() + 1;
      int entries = device.maxSges() + 1;
      for (QueuePairCapacity capacity :
          Arrays.asList(
              QueuePairCapacity.of(requests).withReceiveRequests(1),
              QueuePairCapacity.of(1).withReceiveRequests(requests),
              QueuePairCapacity.of(1).withSendSges(entries),
              QueuePairCapacity.of(1).withReceiveSges(entries))) {
        var thrown =
            assertThrows(
                VerbsException.class,
                () -> pair.a.builder(QueuePairType.RC).capacity(capacity).create());
        assertTrue(
            thrown.getMessage().contains("more than the maximum of the device"), thrown.toString());
      }
    }
  }

  @DeviceTest
  void needsCompletionQueuesOfItsOwnContext() {
    try (Pair pair = new Pair()) {
      var none = QueuePair.builder(pair.a.domain, QueuePairType.RC);
      assertThrows(IllegalStateException.class, none::create);
      var foreign = QueuePair.builder(pair.a.domain, QueuePairType.RC);
      assertThrows(
          IllegalArgumentException.class, () -> foreign.completions(pair.b.completionQueue));
      assertThrows(
          IllegalArgumentException.class,
          () -> QueuePair.builder(pair.a.domain, QueuePairType.XRC_RECV));
      assertThrows(IllegalArgumentException.class, () -> foreign.sourceNumber(1 << 24));
      assertThrows(IllegalArgumentException.class, () -> foreign.maxTsoHeader(1 << 16));
    }
  }

  @DeviceTest
  void makesEachTransition() {
    try (Pair pair = new Pair(QueuePairType.RC)) {
      QueuePair qp = pair.a.queuePair;
      QueuePairAddress remote = pair.b.queuePair.localAddress();
      int index = qp.setup().choice().index();
      qp.modify(
          QueuePairAttributes.toInit(qp.type()).port(1).access(AccessFlag.REMOTE_WRITE).build());
      assertEquals(QueuePairState.INIT, qp.state());
      qp.modify(
          QueuePairAttributes.toReadyToReceive(qp.type())
              .path(AddressVector.global(1, new GlobalRoute(remote.gid(), index)))
              .pathMtu(Mtu.MTU_1024)
              .destination(remote.number())
              .receivePsn(remote.psn())
              .build());
      assertEquals(QueuePairState.RTR, qp.state());
      qp.modify(
          QueuePairAttributes.toReadyToSend(qp.type())
              .sendPsn(0x123456)
              .ackTimeout(AckTimeout.ofCode(10))
              .build());
      assertEquals(QueuePairState.RTS, qp.state());
      QueuePairAttributes now = qp.query();
      assertEquals(Mtu.MTU_1024, now.pathMtu());
      assertEquals(remote.number(), now.destination());
      assertEquals(0x123456, now.sendPsn());
      assertEquals(remote.psn(), now.receivePsn());
      assertEquals(AckTimeout.ofCode(10), now.ackTimeout());
      assertEquals(6, now.retryCount());
      assertEquals(7, now.rnrRetryCount());
      assertEquals(RnrTimer.DEFAULT, now.minRnrTimer());
      assertEquals(1, now.port());
      assertEquals(Set.of(AccessFlag.REMOTE_WRITE), now.access());
      assertEquals(remote.gid(), now.path().orElseThrow().route().orElseThrow().destination());
    }
  }

  @DeviceTest
  void makesTransitionsOfUd() {
    with(
        QueuePairType.UD,
        qp -> {
          qp.modify(QueuePairAttributes.toInit(qp.type()).port(1).queueKey(0x17).build());
          qp.modify(QueuePairAttributes.toReadyToReceive(qp.type()).build());
          qp.modify(QueuePairAttributes.toReadyToSend(qp.type()).sendPsn(1).build());
          assertEquals(QueuePairState.RTS, qp.state());
          assertEquals(0x17, qp.query(QueuePairAttribute.QKEY).queueKey());
          qp.modify(QueuePairAttributes.builder().queueKey(0x18).build());
          assertEquals(0x18, qp.query(QueuePairAttribute.QKEY).queueKey());
        });
  }

  @DeviceTest
  void missingAttributesOfATransitionThrow() {
    with(
        QueuePairType.RC,
        qp -> {
          var thrown =
              assertThrows(
                  VerbsException.class,
                  () -> qp.modify(QueuePairAttributes.toInit(qp.type()).build()));
          assertTrue(
              thrown
                  .getMessage()
                  .contains("required attributes are missing: IBV_QP_ACCESS_FLAGS, IBV_QP_PORT"),
              thrown.getMessage());
          var attributes =
              QueuePairAttributes.toInit(qp.type()).port(1).access().queueKey(1).build();
          var excess = assertThrows(VerbsException.class, () -> qp.modify(attributes));
          assertTrue(excess.getMessage().contains("not allowed: IBV_QP_QKEY"), excess.getMessage());
        });
  }

  @DeviceTest
  void explainsErrorsOfTheKernel() {
    with(
        QueuePairType.RC,
        qp -> {
          var noWay =
              refusal(qp, QueuePairAttributes.builder().state(QueuePairState.RTS).sendPsn(0));
          assertTrue(noWay.contains("no transition from state RESET to RTS"), noWay);
          var lacking =
              refusal(qp, QueuePairAttributes.builder().state(QueuePairState.INIT).port(1));
          assertTrue(lacking.contains("missing: IBV_QP_ACCESS_FLAGS, IBV_QP_PKEY_INDEX"), lacking);
          assertEquals(QueuePairState.RESET, qp.state(), "nothing was changed");
        });
  }

  private static String refusal(QueuePair qp, QueuePairAttributes.Builder attributes) {
    var thrown = assertThrows(VerbsException.class, () -> qp.modify(attributes.build()));
    assertEquals(Errno.EINVAL, thrown.errno());
    assertEquals("ibv_modify_qp", thrown.function());
    return thrown.getMessage();
  }

  @DeviceTest
  void explainsAGidIndexWithoutGid() {
    with(
        QueuePairType.RC,
        qp -> {
          qp.setup().init();
          GlobalRoute route = new GlobalRoute(Gid.parse("::ffff:10.9.0.1"), 200);
          var move =
              QueuePairAttributes.toReadyToReceive(qp.type())
                  .path(AddressVector.global(1, route))
                  .pathMtu(Mtu.MTU_1024)
                  .destination(1)
                  .receivePsn(0)
                  .build();
          var thrown = assertThrows(VerbsException.class, () -> qp.modify(move));
          assertTrue(thrown.getMessage().contains("no GID at index 200"), thrown.getMessage());
          assertEquals(QueuePairState.INIT, qp.state());
        });
  }

  @DeviceTest
  void connectsInOneLine() {
    for (QueuePairType type : new QueuePairType[] {QueuePairType.RC, QueuePairType.UC}) {
      try (Pair pair = Pair.connected(type)) {
        assertEquals(QueuePairState.RTS, pair.a.queuePair.state());
        assertEquals(QueuePairState.RTS, pair.b.queuePair.state());
        pair.b.receive(7);
        SendList send = new SendList(1, 1);
        send.send(0).local(pair.a.memory, 0, 8).signaled();
        pair.a.memory.memory().setString(0, "verbena");
        assertEquals(1, pair.a.queuePair.post(send));
        assertTrue(pair.a.completion().isSuccess(0));
        Completions received = pair.b.completion();
        assertTrue(received.isSuccess(0), received.describe(0));
        assertEquals(7, received.id(0));
        assertEquals("verbena", pair.b.memory.memory().getString(0));
      }
    }
  }

  @DeviceTest
  void recoversThroughReset() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      pair.b.receive(1);
      pair.b.queuePair.fail();
      assertEquals(QueuePairState.ERR, pair.b.queuePair.state());
      assertEquals(CompletionStatus.WR_FLUSH_ERR, pair.b.completion().status(0));
      var thrown = assertThrows(IllegalStateException.class, pair::connect);
      assertTrue(thrown.getMessage().contains("reset() it"), thrown.getMessage());
      pair.a.queuePair.reset();
      pair.b.queuePair.reset();
      pair.connect();
      pair.b.receive(2);
      SendList send = new SendList(1, 1);
      send.send(0).local(pair.a.memory, 0, 8).signaled();
      assertEquals(1, pair.a.queuePair.post(send));
      assertEquals(2, pair.b.completion().id(0));
    }
  }

  @DeviceTest
  void aResetDrawsAnotherPsn() {
    with(
        QueuePairType.RC,
        qp -> {
          int first = qp.localAddress().psn();
          assertEquals(first, qp.localAddress().psn());
          Set<Integer> drawn = new HashSet<>(Set.of(first));
          for (int i = 0; i < 4; i++) {
            qp.setup().init();
            qp.reset();
            drawn.add(qp.localAddress().psn());
          }
          assertTrue(drawn.size() > 1, drawn.toString());
          qp.setup().psn(0xabc);
          qp.reset();
          assertEquals(0xabc, qp.localAddress().psn());
        });
  }

  @DeviceTest
  void allWorkIsDrained() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      for (int i = 0; i < 16; i++) {
        pair.a.receive(i);
      }
      SendList sends = new SendList(16, 1);
      for (int i = 0; i < sends.size(); i++) {
        sends.send(i).id(100 + i).local(pair.a.memory, 0, 8).signaled();
      }
      assertEquals(16, pair.a.queuePair.post(sends)); // The peer has no receive requests.
      Set<Long> drained = new TreeSet<>();
      pair.a.queuePair.failAndDrain(
          Duration.ofSeconds(Long.MAX_VALUE), // Without a limit.
          (completions, i) -> {
            assertEquals(CompletionStatus.WR_FLUSH_ERR, completions.status(i));
            assertTrue(drained.add(completions.id(i)), "twice " + completions.id(i));
          });
      assertEquals(32, drained.size(), drained.toString());
      assertEquals(0, pair.a.completionQueue.poll(new Completions(1)));
      assertEquals(QueuePairState.ERR, pair.a.queuePair.state());
      pair.a.queuePair.reset();
      pair.b.queuePair.reset();
      pair.connect();
      pair.b.receive(2);
      SendList send = new SendList(1, 1);
      send.send(0).local(pair.a.memory, 0, 8).signaled();
      pair.a.run(send);
    }
  }

  @DeviceTest
  void onlyConnectedQueuePairsAreDrained() {
    with(
        QueuePairType.RC,
        qp -> {
          var unconnected =
              assertThrows(
                  IllegalStateException.class, () -> qp.failAndDrain(Await.LIMIT, (c, i) -> {}));
          assertTrue(unconnected.getMessage().contains("RESET"), unconnected.getMessage());
        });
    with(
        QueuePairType.UD,
        qp -> {
          var datagrams =
              assertThrows(
                  IllegalStateException.class, () -> qp.failAndDrain(Await.LIMIT, (c, i) -> {}));
          assertTrue(datagrams.getMessage().contains("UD"), datagrams.getMessage());
        });
  }

  @DeviceTest
  void aPeerWithTheOtherRoceVersionIsRefusedBeforeTraffic() {
    with(
        QueuePairType.RC,
        qp -> {
          GidType own = qp.localAddress().gidType();
          GidType other = own == GidType.ROCE_V2 ? GidType.ROCE_V1 : GidType.ROCE_V2;
          var thrown =
              assertThrows(
                  IllegalArgumentException.class,
                  () -> qp.connect(qp.localAddress().withGidType(other)));
          assertTrue(thrown.getMessage().contains(other.text()), thrown.getMessage());
          assertEquals(QueuePairState.RESET, qp.state());
        });
  }

  @DeviceTest
  void keepsItsAddressAndSetup() {
    with(
        QueuePairType.RC,
        qp -> {
          qp.setup().psn(0xabc).mtu(Mtu.MTU_512).reads(3).gid(0);
          QueuePairAddress address = qp.localAddress();
          assertEquals(address, qp.localAddress());
          assertEquals(0xabc, address.psn());
          assertEquals(Mtu.MTU_512, address.mtu());
          assertEquals(3, address.reads());
          assertEquals(qp.number(), address.number());
          assertEquals(qp.context().port(1).gid(0), address.gid());
        });
  }

  @DeviceTest
  @Needs(ADDRESSES)
  void choosesTheGidOfASourceAddress() {
    with(
        QueuePairType.RC,
        qp -> {
          qp.setup().source(Rig.address6A());
          assertEquals(Gid.of(Rig.address6A()), qp.localAddress().gid());
          assertTrue(qp.setup().choice().reason().contains(Rig.address6A().getHostAddress()));
          QueuePairAddress ipv4 = QueuePairAddress.of(1, Gid.parse("10.9.0.2"));
          var thrown = assertThrows(IllegalArgumentException.class, () -> qp.connect(ipv4));
          assertTrue(thrown.getMessage().contains("address families"), thrown.getMessage());
        });
  }

  @DeviceTest
  void setupWithValuesOutOfRangeThrows() {
    with(
        QueuePairType.RC,
        qp -> {
          QueuePairSetup setup = qp.setup();
          assertThrows(IllegalArgumentException.class, () -> setup.port(99));
          assertThrows(IllegalArgumentException.class, () -> setup.psn(1 << 24));
          assertThrows(IllegalArgumentException.class, () -> setup.retryCount(8));
          assertThrows(IllegalArgumentException.class, () -> setup.rnrRetryCount(-1));
          assertThrows(NullPointerException.class, () -> setup.ackTimeout(null));
          assertThrows(NullPointerException.class, () -> setup.minRnrTimer(null));
          assertThrows(IllegalArgumentException.class, () -> setup.serviceLevel(16));
          assertThrows(IllegalArgumentException.class, () -> setup.trafficClass(256));
          assertThrows(IllegalArgumentException.class, () -> setup.flowLabel(1 << 20));
          assertThrows(IllegalArgumentException.class, () -> setup.hopLimit(-1));
          assertThrows(IllegalArgumentException.class, () -> setup.gid(-1));
          assertThrows(IllegalStateException.class, qp::activate);
          assertThrows(NullPointerException.class, () -> qp.connect(null));
        });
    with(
        QueuePairType.UD,
        qp -> {
          QueuePairAddress own = qp.localAddress();
          assertThrows(IllegalStateException.class, () -> qp.connect(own));
        });
  }

  @DeviceTest
  void drainsAndResumes() throws InterruptedException {
    try (Pair pair = new Pair()) {
      QueuePair qp = pair.a.builder(QueuePairType.UD).create();
      qp.activate();
      qp.startDrainingWithEvent();
      assertEquals(QueuePairState.SQD, qp.state());
      AsyncEvent drained = AsyncEvents.of(qp.context()).poll(Await.LIMIT);
      assertSame(AsyncEventType.SQ_DRAINED, drained.type());
      assertFalse(qp.query().isDraining());
      qp.resume();
      assertEquals(QueuePairState.RTS, qp.state());
    }
  }

  @DeviceTest
  void requestedAttributesAreQueried() {
    with(
        QueuePairType.UD,
        qp -> {
          qp.setup().init();
          QueuePairAttributes all = qp.query();
          assertEquals(QueuePairState.INIT, all.state());
          assertEquals(1, all.port());
          assertEquals(0, all.pkeyIndex());
          assertFalse(all.isDraining());
          QueuePairAttributes one = qp.query(QueuePairAttribute.PORT);
          assertEquals(Set.of(QueuePairAttribute.PORT), one.mask());
          assertThrows(IllegalStateException.class, one::pkeyIndex);
        });
  }

  @DeviceTest
  @On(SOFT_ROCE)
  void unsupportedFeaturesThrow() {
    with(
        QueuePairType.RC,
        qp -> {
          var thrown =
              assertThrows(
                  VerbsException.class, () -> qp.limitRate(RateLimit.ofKilobitsPerSecond(1000)));
          assertTrue(thrown.isUnsupported(), thrown.getMessage());
          assertTrue(thrown.getMessage().contains("packet pacing"), thrown.getMessage());
        });
    try (Pair pair = new Pair()) {
      var thrown =
          assertThrows(
              VerbsException.class, () -> pair.a.builder(QueuePairType.RAW_PACKET).create());
      assertTrue(thrown.getMessage().contains("RAW_PACKET"), thrown.getMessage());
    }
  }

  @DeviceTest
  @On(SOFT_ROCE)
  void hasNoEceOptions() {
    with(
        QueuePairType.RC,
        qp -> {
          assertTrue(assertThrows(VerbsException.class, qp::enhancedConnection).isUnsupported());
          EnhancedConnectionEstablishment options = new EnhancedConnectionEstablishment(1, 2);
          assertTrue(
              assertThrows(VerbsException.class, () -> qp.enhancedConnection(options))
                  .isUnsupported());
        });
  }

  @DeviceTest
  void takesAPrivilegedQueueKey() {
    for (SendOperation[] operations : new SendOperation[][] {{}, {SendOperation.SEND}}) {
      try (Pair pair = new Pair()) { // A completion queue is of one data path, direct or through C.
        QueuePair qp = pair.a.builder(QueuePairType.UD).sendOperations(operations).create();
        qp.modify(QueuePairAttributes.toInit(qp.type()).port(1).queueKey(0x8000_0000).build());
        assertEquals(0x8000_0000, qp.query(QueuePairAttribute.QKEY).queueKey());
      }
    }
  }

  @DeviceTest
  void allowsManyReadsAtOnce() {
    try (Pair pair = new Pair(QueuePairType.RC)) {
      pair.a.queuePair.setup().reads(12);
      pair.b.queuePair.setup().reads(12);
      pair.connect();
      QueuePairAttributes now = pair.a.queuePair.query();
      assertTrue(now.readsAsInitiator() >= 12, now.toString());
      assertTrue(now.readsAsTarget() >= 12, now.toString());
    }
  }

  @DeviceTest
  void hasNoDataOrderGuarantee() {
    with(
        QueuePairType.UD,
        qp -> {
          qp.activate();
          for (WorkRequestOpcode opcode :
              Set.of(
                  WorkRequestOpcode.SEND,
                  WorkRequestOpcode.RDMA_WRITE,
                  WorkRequestOpcode.RDMA_READ)) {
            assertEquals(Set.of(), qp.dataInOrder(opcode));
            assertEquals(Set.of(), qp.dataInOrderOfDevice(opcode));
          }
        });
  }

  @DeviceTest
  void hasTheRequestedAttributes() {
    for (QueuePairType type : TYPES) {
      with(
          type,
          qp -> {
            qp.setup().psn(0x45).init();
            QueuePairAttributes now = qp.query();
            assertEquals(QueuePairState.INIT, now.state());
            assertEquals(1, now.port());
            assertTrue(now.capacity().sendRequests() >= 16, now.capacity().toString());
            assertTrue(now.capacity().receiveRequests() >= 16, now.capacity().toString());
            assertTrue(now.capacity().sendSges() >= 2, now.capacity().toString());
          });
    }
  }
}
