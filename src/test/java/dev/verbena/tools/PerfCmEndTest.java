package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.cm.Listener;
import dev.verbena.soft.SoftHosts;
import dev.verbena.tools.PerfTask.Operation;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Ends of measurements that are connected by RDMA CM. */
@Tag("host")
class PerfCmEndTest {
  private static final Duration LIMIT = Duration.ofMinutes(1);

  /** The end of the connection flushes the requests of the server. */
  @Test
  void aPeerThatLeavesIsNotReportedAsAFailedRequest() throws Exception {
    try (SoftHosts hosts = SoftHosts.create();
        Listener listener =
            hosts.call(() -> Listener.open(new InetSocketAddress(hosts.serverAddress(), 0)))) {
      InetSocketAddress address = listener.address().orElseThrow();
      InetSocketAddress local = new InetSocketAddress(InetAddress.ofLiteral("192.0.2.1"), 0);
      PerfTask task = new PerfTask(Operation.SEND, 64, 0, 1000);
      FutureTask<PerfEnd> client =
          new FutureTask<>(() -> hosts.call(() -> PerfCmEnd.visit(local, address, task, LIMIT)));
      Thread.ofPlatform().start(client);
      PerfEnd server = hosts.call(() -> PerfCmEnd.accept(listener.take(), LIMIT));
      client.get().close();
      var left = assertThrows(IllegalStateException.class, () -> PeerServer.serve(server));
      assertEquals("the peer has left during the measurement", left.getMessage());
    }
  }
}
