package dev.verbena.cm;

import static dev.verbena.testing.Need.CM;
import static dev.verbena.testing.Need.KERNEL;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.RdmaTimeoutException;
import dev.verbena.messages.Connection;
import dev.verbena.messages.ConnectionSettings;
import dev.verbena.testing.Await;
import dev.verbena.testing.Background;
import dev.verbena.testing.Descriptors;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Program;
import dev.verbena.testing.Rig;
import dev.verbena.values.CompletionStatus;
import dev.verbena.verbs.WorkRequestException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/**
 * A network that drops every packet. The kernel asks again for more than a minute before it says
 * that the peer is unreachable: whoever waits for less gets a timeout, and leaves nothing behind.
 */
@Needs({CM, KERNEL})
class BlackHoleTest {
  private static final Duration SHORTLY = Duration.ofSeconds(2);

  private static void cable(String change, String... discipline) throws Exception {
    run(Program.with(List.of("tc", "qdisc", change, "dev", Rig.netdevA(), "root"), discipline));
  }

  private static void run(List<String> command) throws Exception {
    try (Program program = Program.start(command)) {
      program.endsWell();
    }
  }

  /** The kernel is asked again and again, since it may miss an answer: to the end of the time. */
  @DeviceTest
  void addressWithoutHostIsUnreachable() throws Exception {
    InetSocketAddress nobody = new InetSocketAddress("10.9.0.77", 7471);
    run(List.of("ip", "route", "add", "10.9.0.77", "dev", Rig.netdevA()));
    try {
      long start = System.nanoTime();
      var noWay =
          assertThrows(
              RuntimeException.class,
              () -> Endpoint.resolve(PortSpace.TCP, Host.a4().at(0), nobody, SHORTLY));
      Duration took = Duration.ofNanos(System.nanoTime() - start);
      assertTrue(took.compareTo(SHORTLY.minusMillis(10)) > 0, took::toString);
      // The limit, or the kernel's own, which is about as long.
      boolean isLate = noWay instanceof RdmaTimeoutException;
      assertTrue(isLate || noWay.getMessage().contains("ETIMEDOUT"), noWay.getMessage());
    } finally {
      run(List.of("ip", "route", "del", "10.9.0.77", "dev", Rig.netdevA()));
    }
  }

  @DeviceTest
  void lostRequestTimesOut() throws Exception {
    try (Listener listener = Listener.open(Host.b4().at(0))) {
      ConnectionSettings settings =
          ConnectionSettings.DEFAULT.withLocalAddress(Host.a4().at(0)).withTimeout(SHORTLY);
      InetSocketAddress server = Host.b4().at(listener.port());
      Contexts.list(); // Opens the devices, which stay open.
      List<String> before = Descriptors.ofRdma();
      cable("add", "netem", "loss", "100%");
      try {
        // The kernel's own limit would be reported by an event: unreachable.
        var late =
            assertThrows(RdmaTimeoutException.class, () -> Connection.connect(server, settings));
        assertTrue(late.getMessage().contains("rdma_connect"), late.getMessage());
        assertEquals(before, Descriptors.ofRdma());
      } finally {
        cable("del");
      }
    }
  }

  @DeviceTest
  void lostLinkFailsTheSend() throws Exception {
    try (Listener listener = Listener.open(Host.b4().at(0))) {
      ConnectionSettings settings = ConnectionSettings.DEFAULT.withTimeout(Await.LIMIT);
      FutureTask<Connection> accepting =
          Background.inBackground(() -> Connection.accept(listener.take(), settings));
      Connection client =
          Connection.connect(
              Host.b4().at(listener.port()), settings.withLocalAddress(Host.a4().at(0)));
      Connection server = accepting.get();
      try {
        client.send(new byte[1]);
        assertEquals(1, server.receive(PeerProgram.SOON).length);
        cable("add", "netem", "loss", "100%");
        FutureTask<byte[]> receiving = Background.inBackground(() -> client.receive());
        client.setTimeout(Duration.ofMillis(100));
        assertThrows(RdmaTimeoutException.class, () -> client.send(new byte[1]));
        client.setTimeout(Await.LIMIT);
        var lost = assertThrows(WorkRequestException.class, () -> client.awaitPosted());
        assertEquals(CompletionStatus.RETRY_EXC_ERR, lost.status());
        var flushed = assertThrows(ExecutionException.class, receiving::get);
        assertTrue(flushed.getMessage().contains("RETRY_EXC_ERR"), flushed.getMessage());
        assertThrows(RdmaTimeoutException.class, () -> server.receive(Duration.ofMillis(100)));
      } finally {
        // Without the link, both ends wait for an answer in vain: for a limited time.
        client.close();
        server.close();
        cable("del");
      }
    }
  }
}
