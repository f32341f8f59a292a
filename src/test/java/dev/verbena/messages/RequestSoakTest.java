package dev.verbena.messages;

import static dev.verbena.testing.Environment.TRIXIE;
import static dev.verbena.testing.Need.CM;

import dev.verbena.soft.SoftHosts;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Netem;
import dev.verbena.testing.Once;
import dev.verbena.testing.Rig;
import dev.verbena.values.AckTimeout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;

/**
 * Many calls of 50 clients over a network that loses, duplicates and reorders packets: each is
 * answered once, with its own answer. {@code -Dverbena.calls=10000000} is the long form.
 */
@Needs(CM)
@Once(
    value = TRIXIE,
    reason = "replies and credits in Java, over sends that QpTest makes everywhere")
class RequestSoakTest {
  private static final int CLIENTS = 50;
  private static final InetSocketAddress CLIENT =
      new InetSocketAddress(InetAddress.ofLiteral("192.0.2.1"), 0);
  private static final ConnectionSettings SOON =
      RequestSoak.SETTINGS.withAckTimeout(AckTimeout.ofCode(11));

  /** Soft-RoCE in an emulated machine answers late: a shorter timeout loads it with retries. */
  private static final ConnectionSettings LATER =
      RequestSoak.SETTINGS.withAckTimeout(AckTimeout.ofCode(15));

  private static int calls(int usually) {
    return Integer.getInteger("verbena.calls", usually);
  }

  @Test
  void eachCallIsAnsweredOnceOverABadNetwork() throws Exception {
    try (SoftHosts hosts = SoftHosts.create()) {
      InetSocketAddress server = new InetSocketAddress(hosts.serverAddress(), 0);
      try (RequestSoak soak =
          hosts.call(() -> new RequestSoak(calls(20_000), CLIENTS, SOON, server))) {
        hosts.call(
            () -> {
              connect(soak, SOON.withLocalAddress(CLIENT), server);
              return null;
            });
        hosts.faults().seed(7).loss(0.01).duplicate(0.01).reorder(0.01);
        soak.callAll();
      }
    }
  }

  /** In the lab, the cable has the faults. */
  @DeviceTest
  void eachCallIsAnsweredOnceOnDevices() throws Exception {
    InetSocketAddress server = new InetSocketAddress(Rig.addressB(), 0);
    try (RequestSoak soak = new RequestSoak(calls(1_000), CLIENTS, LATER, server)) {
      connect(soak, LATER.withLocalAddress(new InetSocketAddress(Rig.addressA(), 0)), server);
      if (Rig.labGuest().isPresent() && !Rig.isSoftware()) {
        Netem.under("loss 1% duplicate 1% delay 1ms reorder 99%", soak::callAll);
      } else {
        soak.callAll();
      }
    }
  }

  private static void connect(
      RequestSoak soak, ConnectionSettings settings, InetSocketAddress server)
      throws InterruptedException {
    for (int i = 0; i < CLIENTS; i++) {
      soak.connect(settings, server);
    }
  }
}
