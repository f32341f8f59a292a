package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.cm.ConnectionException;
import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.Await;
import dev.verbena.testing.Ports;
import dev.verbena.tools.PerfTask.Operation;
import dev.verbena.tools.command.Patience;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;

/** {@code perf} whose peer can no longer be reached, on software devices. */
class UnreachablePeerTest {
  private static final PerfTask WRITES = new PerfTask(Operation.WRITE, 8, 0, 1);

  @Test
  void anEndThatOnlyWaitsNoticesIt() throws Exception {
    InetAddress here = InetAddress.getByName("10.77.0.1");
    InetAddress there = InetAddress.getByName("10.77.0.2");
    InetSocketAddress address = new InetSocketAddress(there, Integer.parseInt(Ports.free()));
    try (SoftNetwork network = SoftNetwork.create()) {
      var _ = network.addDevice("soft0", here);
      var _ = network.addDevice("soft1", there);
      FutureTask<PerfEnd> serving =
          new FutureTask<>(() -> PerfCmEnd.serve(address, Patience.WITH_PEER));
      network.call(() -> Thread.ofPlatform().daemon().start(serving));
      try (PerfEnd _ = network.call(() -> visit(new InetSocketAddress(here, 0), address));
          PerfEnd server = serving.get()) {
        network.faults().partition("soft0", "soft1");
        var failure = assertThrows(IllegalStateException.class, server::awaitLeave);
        assertTrue(failure.getMessage().contains("RETRY_EXC_ERR"), failure::toString);
      }
    }
  }

  /** Connects once the peer listens. */
  private static PerfEnd visit(InetSocketAddress local, InetSocketAddress server)
      throws InterruptedException {
    while (true) {
      try {
        return PerfCmEnd.visit(local, server, WRITES, Patience.WITH_PEER);
      } catch (ConnectionException e) {
        if (!e.getMessage().contains("no listener")) {
          throw e;
        }
        Await.pass(Duration.ofMillis(10), "nobody listens yet");
      }
    }
  }
}
