package dev.verbena.cm;

import static dev.verbena.testing.Need.CM;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.RdmaException;
import dev.verbena.messages.Connection;
import dev.verbena.messages.ConnectionSettings;
import dev.verbena.raw.rdma_cm_id;
import dev.verbena.testing.Background;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.AckTimeout;
import dev.verbena.values.EnhancedConnectionEstablishment;
import dev.verbena.values.QueuePairAttribute;
import dev.verbena.values.QueuePairAttributes;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SharedReceiveQueue;
import java.lang.foreign.Arena;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/** Queue pairs and shared receive queues of the identifiers of RDMA CM, by events. */
@Needs(CM)
class QueuesOfIdentifiersTest {
  @DeviceTest
  void optionsReachTheQueuePair() throws InterruptedException {
    try (EventChannel active = EventChannel.open();
        EventChannel passive = EventChannel.open()) {
      ConnectionId listener = RdmaCmTest.listening(passive, Rig.addressB());
      ConnectionId client = active.createId(PortSpace.TCP);
      // A timeout that the device's own delay does not lengthen.
      client.options().typeOfService(96).ackTimeout(AckTimeout.ofCode(20));
      client.resolveAddress(
          new InetSocketAddress(Rig.addressA(), 0),
          RdmaCmTest.at(listener, Rig.addressB()),
          RdmaCmTest.SOON);
      Identifiers.next(active, EventType.ADDR_RESOLVED);
      client.resolveRoute(RdmaCmTest.SOON);
      Identifiers.next(active, EventType.ROUTE_RESOLVED);
      QueuePair pair = client.queues().createQueuePair(RdmaCmTest.SMALL);
      client.connect();
      ConnectionId server = Identifiers.next(passive, EventType.CONNECT_REQUEST).id();
      server.queues().createQueuePair(RdmaCmTest.SMALL);
      server.accept();
      Identifiers.next(active, EventType.ESTABLISHED);
      QueuePairAttributes attributes =
          pair.query(QueuePairAttribute.AV, QueuePairAttribute.TIMEOUT);
      assertEquals(96, attributes.path().orElseThrow().route().orElseThrow().trafficClass());
      assertEquals(AckTimeout.ofCode(20), attributes.ackTimeout());
    }
  }

  @DeviceTest
  void transfersNeedAQueuePair() {
    QueuePairCapacity excessive = RdmaCmTest.SMALL.withMaxInlineData(1 << 20);
    try (EventChannel channel = EventChannel.open();
        ConnectionId id = channel.createId(PortSpace.TCP)) {
      id.bind(new InetSocketAddress(Rig.addressA(), 0));
      ConnectionQueues queues = id.queues();
      assertThrows(
          RdmaException.class, () -> queues.createQueuePairOnOneChannel(id.domain(), excessive));
      assertTrue(queues.sendCompletions().isOpen());
      assertThrows(IllegalStateException.class, queues::transfers);
    }
  }

  @DeviceTest
  void connectsAnotherQueuePair() throws InterruptedException {
    try (EventChannel active = EventChannel.open();
        EventChannel passive = EventChannel.open()) {
      ConnectionId listener = RdmaCmTest.listening(passive, Rig.addressB());
      ConnectionId client =
          Identifiers.resolved(active, Rig.addressA(), RdmaCmTest.at(listener, Rig.addressB()));
      QueuePair clientPair = external(client);
      client.connect(
          ConnectionParameters.DEFAULT.withQueuePairNumber(clientPair.number()), new byte[0]);

      ConnectionEvent request = Identifiers.next(passive, EventType.CONNECT_REQUEST);
      assertEquals(clientPair.number(), request.connection().orElseThrow().queuePairNumber());
      ConnectionId server = request.id();
      assertEquals(
          new EnhancedConnectionEstablishment(0, 0), server.foreignQueuePair().remoteOptions());
      QueuePair serverPair = external(server);
      serverPair.modify(server.foreignQueuePair().attributesFor(QueuePairState.RTR));
      serverPair.modify(server.foreignQueuePair().attributesFor(QueuePairState.RTS));
      server.accept(
          ConnectionParameters.DEFAULT.withQueuePairNumber(serverPair.number()), new byte[0]);

      ConnectionEvent response = Identifiers.next(active, EventType.CONNECT_RESPONSE);
      assertEquals(serverPair.number(), response.connection().orElseThrow().queuePairNumber());
      clientPair.modify(client.foreignQueuePair().attributesFor(QueuePairState.RTR));
      clientPair.modify(client.foreignQueuePair().attributesFor(QueuePairState.RTS));
      client.foreignQueuePair().establish();
      Identifiers.next(passive, EventType.ESTABLISHED);
      assertEquals(QueuePairState.RTS, clientPair.state());
      assertEquals(QueuePairState.RTS, serverPair.state());
      clientPair.close();
      serverPair.close();
    }
  }

  @DeviceTest
  void queuePairThatCannotBeConnectedFailsTheConnection() throws InterruptedException {
    try (EventChannel active = EventChannel.open();
        EventChannel passive = EventChannel.open()) {
      ConnectionId listener = RdmaCmTest.listening(passive, Rig.addressB());
      ConnectionId client =
          Identifiers.resolved(active, Rig.addressA(), RdmaCmTest.at(listener, Rig.addressB()));
      QueuePair pair = client.queues().createQueuePair(RdmaCmTest.SMALL);
      client.connect();
      ConnectionId server = Identifiers.next(passive, EventType.CONNECT_REQUEST).id();
      server.queues().createQueuePair(RdmaCmTest.SMALL);
      pair.fail();
      server.accept();
      ConnectionEvent error = Identifiers.next(active, EventType.CONNECT_ERROR);
      assertTrue(error.isFailure());
      assertEquals(client, error.id());
    }
  }

  /**
   * Of two shared receive queues librdmacm keeps only the last: closing both would crash the JVM.
   */
  @DeviceTest
  void twoThreadsCreateOneSharedReceiveQueue() throws Exception {
    try (EventChannel channel = EventChannel.open()) {
      for (int round = 0; round < 50; round++) {
        ConnectionId id = channel.createId(PortSpace.TCP);
        id.bind(new InetSocketAddress(Rig.addressB(), 0));
        CyclicBarrier start = new CyclicBarrier(2);
        Callable<SharedReceiveQueue> creation =
            () -> {
              start.await();
              return id.queues().createSharedReceiveQueue(4);
            };
        List<FutureTask<SharedReceiveQueue>> both =
            List.of(Background.inBackground(creation), Background.inBackground(creation));
        int refused = 0;
        for (FutureTask<SharedReceiveQueue> one : both) {
          try {
            assertSame(one.get(), id.queues().sharedReceiveQueue().orElseThrow());
          } catch (ExecutionException e) {
            assertInstanceOf(IllegalStateException.class, e.getCause());
            refused++;
          }
        }
        assertEquals(1, refused, "refused in round " + round);
        id.close();
      }
    }
  }

  @DeviceTest
  void sharedReceiveQueueHasTheOptionsOfItsBuilder() {
    try (EventChannel channel = EventChannel.open()) {
      ConnectionId id = channel.createId(PortSpace.TCP);
      id.bind(new InetSocketAddress(Rig.addressB(), 0));
      try (Context other = Rig.b().open()) {
        ProtectionDomain foreign = other.allocateProtectionDomain();
        assertThrows(
            IllegalArgumentException.class,
            () -> id.queues().createSharedReceiveQueue(SharedReceiveQueue.builder(foreign, 4)));
      }
      SharedReceiveQueue shared =
          id.queues()
              .createSharedReceiveQueue(SharedReceiveQueue.builder(id.domain(), 4).maxSges(2));
      assertSame(shared, id.queues().sharedReceiveQueue().orElseThrow());
      assertTrue(shared.query().maxSges() >= 2, shared.query().toString());
      assertSame(id.domain(), id.queues().createQueuePair(RdmaCmTest.SMALL).domain());
      id.close();
      assertFalse(shared.isOpen());
    }
  }

  static QueuePair external(ConnectionId id) {
    QueuePair pair =
        QueuePair.builder(id.domain(), QueuePairType.RC)
            .completions(id.context().createCompletionQueue(8))
            .capacity(RdmaCmTest.SMALL)
            .create();
    pair.modify(id.foreignQueuePair().attributesFor(QueuePairState.INIT));
    return pair;
  }

  @DeviceTest
  void queuePairHasTheOptionsOfItsBuilder() throws InterruptedException {
    try (EventChannel active = EventChannel.open();
        EventChannel passive = EventChannel.open()) {
      ConnectionId listener = RdmaCmTest.listening(passive, Rig.addressB());
      ConnectionId client =
          Identifiers.resolved(active, Rig.addressA(), RdmaCmTest.at(listener, Rig.addressB()));
      CompletionQueue queue = client.context().createCompletionQueue(8);
      QueuePair pair =
          client
              .queues()
              .createQueuePair(
                  QueuePair.builder(client.domain(), QueuePairType.RC)
                      .completions(queue)
                      .capacity(RdmaCmTest.SMALL));
      assertEquals(QueuePairState.INIT, pair.state());
      assertEquals(pair, client.queuePair().orElseThrow());
      assertThrows(
          IllegalStateException.class, () -> client.queues().createQueuePair(RdmaCmTest.SMALL));
      pair.close();
      client.queues().createQueuePair(RdmaCmTest.SMALL);
      assertEquals(QueuePairState.INIT, client.queuePair().orElseThrow().state());
      queue.close();
    }
  }

  /** C leaves a pointer to the domain of the last queue pair in the identifier. */
  @DeviceTest
  void identifierOutlivesTheDomainOfItsQueuePair() {
    try (EventChannel channel = EventChannel.open();
        Arena arena = Arena.ofShared()) {
      ConnectionId id = channel.createId(PortSpace.TCP);
      id.bind(new InetSocketAddress(Rig.addressB(), 0));
      long home = rdma_cm_id.pd(id.nativeId().struct()).address();
      try (CompletionQueue queue = id.context().createCompletionQueue(8);
          ProtectionDomain own = id.context().allocateProtectionDomain()) {
        id.queues()
            .createQueuePair(
                QueuePair.builder(own, QueuePairType.RC)
                    .completions(queue)
                    .capacity(RdmaCmTest.SMALL));
        assertSame(own, id.domain());
      }
      assertEquals(Optional.empty(), id.queuePair());
      assertEquals(
          home,
          rdma_cm_id.pd(id.nativeId().struct()).address(),
          "C still has a domain that is gone");
      assertEquals(home, id.domain().segment().address());
      id.domain().registerMemory(arena.allocate(64), AccessFlag.LOCAL_WRITE).close();
      QueuePair pair = id.queues().createQueuePair(RdmaCmTest.SMALL);
      assertSame(id.domain(), pair.domain());
    }
  }

  @DeviceTest
  void receivesFromASharedQueue() throws Exception {
    try (Listener listener = Listener.open(new InetSocketAddress(Rig.addressB(), 0));
        Arena arena = Arena.ofShared()) {
      var accepting =
          Background.inBackground(
              () -> {
                Endpoint server = listener.poll(RdmaCmTest.SOON);
                SharedReceiveQueue shared = server.id().queues().createSharedReceiveQueue(8);
                assertThrows(
                    IllegalStateException.class,
                    () -> server.id().queues().createSharedReceiveQueue(8));
                server.id().queues().createQueuePair(RdmaCmTest.SMALL);
                Transfers transfers = server.id().queues().transfers();
                MemoryRegion region = transfers.registerMessages(arena.allocate(64));
                assertTrue(transfers.receive(77, region, 0, 64));
                server.accept(ConnectionParameters.DEFAULT, new byte[0], RdmaCmTest.SOON);
                assertTrue(shared.isOpen());
                return server;
              });
      try (Connection client =
          Connection.connect(
              new InetSocketAddress(Rig.addressB(), listener.port()),
              ConnectionSettings.DEFAULT
                  .withLocalAddress(new InetSocketAddress(Rig.addressA(), 0))
                  .withTimeout(RdmaCmTest.SOON))) {
        try (Endpoint server = accepting.get()) {
          client.send(new byte[] {1, 2, 3});
          Completions got = new Completions(1);
          assertEquals(1, server.id().queues().transfers().awaitReceives(got, RdmaCmTest.SOON));
          assertEquals(77, got.id(0));
          assertEquals(3, got.byteLength(0));
        }
      }
    }
  }
}
