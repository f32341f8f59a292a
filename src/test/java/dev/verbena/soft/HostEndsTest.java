package dev.verbena.soft;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.Errno;
import dev.verbena.RdmaException;
import dev.verbena.RdmaTimeoutException;
import dev.verbena.VerbsException;
import dev.verbena.cm.ConnectionEvent;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.EventType;
import dev.verbena.internal.time.Time;
import dev.verbena.messages.Connection;
import dev.verbena.messages.ConnectionSettings;
import dev.verbena.soft.engine.Timer;
import dev.verbena.testing.Await;
import dev.verbena.values.CompletionStatus;
import dev.verbena.verbs.SendList;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Hosts that are killed, stopped, resumed and restarted. */
@InSimulation
@Tag("host")
class HostEndsTest {
  private static final byte[] MESSAGE = "message".getBytes(UTF_8);

  /** At least the local ACK timeout of the queue pairs of {@link SoftPair}. */
  private static final Duration TIMEOUT = Duration.ofMillis(100);

  @Test
  void aKilledHostSaysNothing() throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      Connection client = hosts.client();
      AtomicInteger sent = new AtomicInteger();
      hosts.network().trace(line -> sent.incrementAndGet());
      hosts.faults().kill("server");
      hosts.server().close(); // Sends a DREQ otherwise.
      assertEquals(0, sent.get());
      assertEquals(Optional.empty(), client.endpoint().end());
      assertThrows(RdmaException.class, () -> client.send(MESSAGE));
    }
  }

  @Test
  void theProgramOfAKilledHostIsToldOfTheRemoval() throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      Endpoint server = hosts.server().endpoint();
      hosts.faults().kill("server");
      ConnectionEvent end = Await.value(() -> "the end", () -> server.end().orElse(null));
      assertEquals(EventType.DEVICE_REMOVAL, end.type());
      VerbsException gone =
          assertThrows(VerbsException.class, hosts.serverContext()::allocateProtectionDomain);
      assertEquals(Errno.EIO, gone.errno());
    }
  }

  @Test
  void theAddressOfAKilledHostDoesNotAnswer() throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      hosts.faults().kill("server");
      ConnectionSettings soon = ConnectionSettings.DEFAULT.withTimeout(Duration.ofMillis(50));
      InetSocketAddress address = new InetSocketAddress(hosts.serverAddress(), 7471);
      RdmaException thrown =
          assertThrows(
              RdmaException.class, () -> hosts.call(() -> Connection.connect(address, soon)));
      assertInstanceOf(RdmaTimeoutException.class, thrown);
    }
  }

  @Test
  void aHostIsRestartedOnTheSameAddress() throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      for (String host : new String[] {"server", "client", "server"}) {
        Connection before = hosts.client();
        before.send(MESSAGE);
        hosts.restart(host);
        assertThrows(RuntimeException.class, () -> before.send(MESSAGE));
        hosts.client().send(MESSAGE);
        assertArrayEquals(MESSAGE, hosts.server().receive());
        assertNotNull(hosts.serverContext().port(1).attributes());
        assertNotNull(hosts.clientContext().port(1).attributes());
      }
      assertThrows(IllegalArgumentException.class, () -> hosts.restart("soft0"));
    }
  }

  @Test
  void nothingArrivesAtAHostThatIsStoppedUntilItIsResumed() throws Exception {
    try (SoftPair pair = SoftPair.connected()) {
      pair.transfer(1, 8);
      pair.network.faults().stop("soft1");
      SendList sends = new SendList(1, 1);
      sends.send(0).local(pair.a.region, 0, 8).signaled();
      assertEquals(1, pair.a.queuePair.post(sends));
      assertEquals(CompletionStatus.RETRY_EXC_ERR, pair.completion());
      pair.network.faults().resume("soft1");
      pair.reconnect();
      pair.transfer(1, 8);
    }
  }

  @Test
  void timeDoesNotPassForTheQueuePairsOfAStoppedHost() throws Exception {
    try (SoftPair pair = SoftPair.connected()) {
      pair.transfer(1, 8);
      pair.network.faults().partition("soft0", "soft1");
      pair.post(8); // Lost: the timer of its retransmission runs.
      Await.until("a retransmission", () -> pair.retransmissions() > 0);
      pair.network.faults().stop("soft0");
      long before = pair.retransmissions();
      CountDownLatch later = new CountDownLatch(1);
      pair.network.engine.locked(
          () ->
              new Timer(pair.network.engine.timers(), later::countDown)
                  .start(Time.now() + 20 * TIMEOUT.toNanos()));
      later.await();
      assertEquals(before, pair.retransmissions());
      pair.network.faults().none();
      assertEquals(CompletionStatus.SUCCESS, pair.completion());
    }
  }
}
