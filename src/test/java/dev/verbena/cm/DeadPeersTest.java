package dev.verbena.cm;

import static dev.verbena.testing.Need.CM;
import static dev.verbena.testing.Need.PEERS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.cm.HoldMain.Stage;
import dev.verbena.messages.Connection;
import dev.verbena.messages.ConnectionSettings;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Program;
import dev.verbena.testing.Rig;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;

/** What is left when the peer's process is killed, in each state of a connection. */
@Needs({CM, PEERS})
class DeadPeersTest {
  private static final int PORT = 7490;

  /** Resolves, and asks for a connection. */
  private static ConnectionId asking(EventChannel channel) throws Exception {
    ConnectionId client = Identifiers.resolved(channel, Rig.addressA(), Host.b4().at(PORT));
    client.queues().createQueuePair(RdmaCmTest.SMALL);
    client.connect();
    return client;
  }

  private static Program holding(Stage stage) throws Exception {
    return Program.start(Program.java(HoldMain.class, stage.name(), Host.b4().digits(), "" + PORT));
  }

  /** rdma-core's rping, which starts sooner than a JVM, once the kernel knows that it listens. */
  private static Program listening() throws Exception {
    Program server =
        Program.start("rping", "-s", "-a", Host.b4().digits(), "-p", "" + PORT, "-C", "1");
    while (!printedBy("rdma", "resource", "show", "cm_id").contains(":" + PORT)) {
      assertTrue(server.process().isAlive(), server::text);
    }
    return server;
  }

  /** Stops a process: what the kernel does for it goes on, what it does itself does not. */
  private static void stop(Program program) throws Exception {
    printedBy("kill", "-STOP", "" + program.process().pid());
  }

  private static String printedBy(String... command) throws Exception {
    try (Program program = Program.start(command)) {
      return program.endsWell();
    }
  }

  @DeviceTest
  void listenerKilledWithARequestPendingRejects() throws Exception {
    try (Program peer = listening();
        EventChannel channel = EventChannel.open()) {
      stop(peer);
      asking(channel);
      assertNull(channel.poll(Duration.ofMillis(500)), "an answer of nobody");
      peer.kill();
      Identifiers.next(channel, EventType.REJECTED);
    }
  }

  @DeviceTest
  void peerKilledBeforeItAcceptsRejects() throws Exception {
    try (Program peer = holding(Stage.ASKED);
        EventChannel channel = EventChannel.open()) {
      peer.says(HoldMain.LISTENING);
      ConnectionId client = asking(channel);
      peer.says(Stage.ASKED.name());
      peer.kill();
      assertEquals(client, Identifiers.next(channel, EventType.REJECTED).id());
    }
  }

  @DeviceTest
  void requestToAKilledListenerIsRejected() throws Exception {
    try (Program peer = listening();
        EventChannel channel = EventChannel.open()) {
      peer.kill();
      asking(channel);
      assertEquals(
          RejectReason.INVALID_SERVICE_ID,
          Identifiers.next(channel, EventType.REJECTED).rejectReason().orElseThrow());
    }
  }

  /** The kernel tells nothing of a request before it is accepted: "the accept will just fail". */
  @DeviceTest
  void clientKilledBeforeItIsAcceptedCannotBeAccepted() throws Exception {
    RpingPeer rping = new RpingPeer();
    try (EventChannel channel = EventChannel.open()) {
      ConnectionId listener = channel.createId(PortSpace.TCP);
      listener.bind(Host.b4().at(rping.port()));
      listener.listen(1);
      try (Program client = Program.start(rping.client(Host.a4(), Host.b4()))) {
        ConnectionId request = Identifiers.next(channel, EventType.CONNECT_REQUEST).id();
        request.queues().createQueuePair(RdmaCmTest.SMALL);
        client.kill();
        assertNull(channel.poll(Duration.ofMillis(500)));
        var late = assertThrows(VerbsException.class, request::accept);
        assertEquals(Errno.EINVAL, late.errno());
      }
    }
  }

  private static EventType typeOfEnd(Connection connection) throws InterruptedException {
    try {
      assertNull(connection.receive(PeerProgram.SOON));
      return EventType.DISCONNECTED;
    } catch (ConnectionException e) {
      return e.event().type();
    }
  }

  @DeviceTest
  void serverKilledWhileConnectedDisconnects() throws Exception {
    RpingPeer rping = new RpingPeer();
    try (Program program = Program.start(rping.server(Host.b4()));
        Connection server =
            PeerProgram.connect(
                Host.a4().address(), Host.b4().at(rping.port()), RpingPeer.MESSAGE)) {
      assertEquals(List.of(), server.endpoint().end().stream().toList());
      program.kill();
      EventType end = typeOfEnd(server);
      assertEquals(end, server.endpoint().end().orElseThrow().type());
      // REJECTED, if its kernel had not received the RTU.
      assertTrue(EnumSet.of(EventType.DISCONNECTED, EventType.REJECTED).contains(end), end::name);
      assertThrows(ConnectionException.class, () -> server.send(new byte[1]));
    }
  }

  @DeviceTest
  void connectionToAKilledProcessFails() throws Exception {
    try (Program program = holding(Stage.MESSAGE)) {
      program.says(HoldMain.LISTENING);
      try (Connection server =
          PeerProgram.connect(
              Host.a4().address(), Host.b4().at(PORT), ConnectionSettings.DEFAULT.messageSize())) {
        assertEquals(1, server.receive(PeerProgram.SOON).length);
        program.kill();
        var lost = assertThrows(ConnectionException.class, () -> server.receive(PeerProgram.SOON));
        assertEquals(EventType.DISCONNECTED, lost.event().type());
        assertTrue(lost.getMessage().contains("without closing"), lost.getMessage());
      }
    }
  }

  @DeviceTest
  void clientKilledWhileConnectedDisconnects() throws Exception {
    RpingPeer rping = new RpingPeer();
    try (Listener listener = Listener.open(Host.b4().at(rping.port()));
        Program program = Program.start(rping.client(Host.a4(), Host.b4()));
        Connection client = PeerProgram.accept(listener, RpingPeer.MESSAGE)) {
      client.receive(PeerProgram.SOON);
      program.kill();
      assertNull(client.receive(PeerProgram.SOON));
      assertEquals(EventType.DISCONNECTED, client.endpoint().end().orElseThrow().type());
    }
  }

  @DeviceTest
  void peerKilledWhileDisconnectingAnswers() throws Exception {
    try (Program peer = listening();
        EventChannel channel = EventChannel.open()) {
      ConnectionId client = asking(channel);
      Identifiers.next(channel, EventType.ESTABLISHED);
      stop(peer);
      client.disconnect();
      assertNull(channel.poll(Duration.ofMillis(500)), "an answer of nobody");
      peer.kill();
      assertEquals(client, Identifiers.next(channel, EventType.DISCONNECTED).id());
    }
  }
}
