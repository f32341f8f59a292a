package dev.verbena.messages;

import static dev.verbena.testing.Environment.TRIXIE;
import static dev.verbena.testing.Need.CM;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.cm.Contexts;
import dev.verbena.messages.SoakClient.Fate;
import dev.verbena.soft.SoftHosts;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Netem;
import dev.verbena.testing.Once;
import dev.verbena.testing.Rig;
import dev.verbena.values.AckTimeout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/**
 * Many calls of 50 clients over a network that loses, duplicates and reorders packets, while other
 * clients are killed, and the device of further ones is removed: each is executed once, and
 * answered with its own answer. {@code -Dverbena.calls=10000000} is the long form, in which a host
 * is killed every second.
 */
@Needs(CM)
@Once(
    value = TRIXIE,
    reason = "replies and credits in Java, over sends that QpTest makes everywhere")
class RequestSoakTest {
  private static final int CLIENTS = 50;

  /** Clients of a device that is removed which let their calls fail, and as many which do not. */
  private static final int REMOVED = 3;

  private static final InetSocketAddress CLIENT =
      new InetSocketAddress(InetAddress.ofLiteral("192.0.2.1"), 0);
  private static final ConnectionSettings SOON =
      RequestSoak.SETTINGS.withAckTimeout(AckTimeout.ofCode(11));

  /** For a client that connects while its host is away; it tries again. */
  private static final Duration ATTEMPT = Duration.ofSeconds(2);

  /** Notices a client that is killed while it has nothing under way, by the retries. */
  private static final ConnectionSettings NOTICING =
      SOON.withKeepAlive(Duration.ofMillis(200), Await.LIMIT);

  /** Soft-RoCE in an emulated machine answers late: a shorter timeout loads it with retries. */
  private static final ConnectionSettings LATER =
      RequestSoak.SETTINGS.withAckTimeout(AckTimeout.ofCode(15));

  private static int calls(int usually) {
    return Integer.getInteger("verbena.calls", usually);
  }

  @Test
  void eachCallIsExecutedOnceOverABadNetworkWhoseHostsFail() throws Exception {
    int calls = calls(20_000);
    try (SoftHosts hosts = SoftHosts.create()) {
      FailingHosts failing = new FailingHosts(hosts, calls, calls > 100_000 ? 0 : calls / 40);
      var _ = hosts.call(Contexts::list); // RDMA CM keeps one of each device open.
      InetSocketAddress server = new InetSocketAddress(hosts.serverAddress(), 0);
      try (RequestSoak soak =
          hosts.call(() -> new RequestSoak(calls, 2 * CLIENTS, NOTICING, server))) {
        int failed =
            hosts.call(
                () -> {
                  connect(soak, SOON.withLocalAddress(CLIENT), server);
                  connectFailing(soak, server);
                  hosts.faults().seed(7).loss(0.01).duplicate(0.01).reorder(0.01);
                  soak.callAll(failing);
                  return soak.finish();
                });
        System.getLogger(getClass().getName())
            .log(
                System.Logger.Level.INFO,
                "%d hosts killed, a device removed %d times"
                    .formatted(failing.kills(), failing.removals()));
        assertTrue(failing.kills() >= 10 && failing.removals() > 0, "nothing fails");
        int most = failing.kills() + failing.removals() * REMOVED;
        assertTrue(failed <= most * RequestSoak.LIMIT, failed + " calls failed");
      }
    }
  }

  private static void connectFailing(RequestSoak soak, InetSocketAddress server) throws Exception {
    for (InetSocketAddress local : FailingHosts.killed()) {
      ConnectionSettings settings = SOON.withLocalAddress(local).withTimeout(ATTEMPT);
      soak.connect(Fate.KILLED, settings, server);
    }
    ConnectionSettings again =
        SOON.withLocalAddress(FailingHosts.removed())
            .withReconnect(Duration.ofMillis(1), Duration.ofMillis(50));
    for (int i = 0; i < REMOVED; i++) {
      soak.connect(Fate.RECONNECTED, again, server);
      soak.connect(Fate.REPEATING, again.withRepeats(), server);
    }
  }

  /** In the lab, the cable has the faults. */
  @DeviceTest
  void eachCallIsAnsweredOnceOnDevices() throws Exception {
    InetSocketAddress server = new InetSocketAddress(Rig.addressB(), 0);
    try (RequestSoak soak = new RequestSoak(calls(1_000), CLIENTS, LATER, server)) {
      connect(soak, LATER.withLocalAddress(new InetSocketAddress(Rig.addressA(), 0)), server);
      if (Rig.labGuest().isPresent() && !Rig.isSoftware()) {
        Netem.under("loss 1% duplicate 1% delay 1ms reorder 99%", () -> soak.callAll(_ -> {}));
      } else {
        soak.callAll(_ -> {});
      }
      // Without loss: Linux does not repeat the disconnect request of an identifier that is
      // destroyed, and this server has no keep-alive.
      var _ = soak.finish();
    }
  }

  private static void connect(
      RequestSoak soak, ConnectionSettings settings, InetSocketAddress server)
      throws InterruptedException {
    for (int i = 0; i < CLIENTS; i++) {
      soak.connect(Fate.NONE, settings, server);
    }
  }
}
