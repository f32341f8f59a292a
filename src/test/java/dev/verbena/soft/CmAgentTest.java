package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.messages.Connection;
import dev.verbena.values.CompletionStatus;
import dev.verbena.verbs.ReceiveList;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** An internal error of the communication manager of a device. */
class CmAgentTest {
  @Test
  void internalErrorFailsWhatIsOutstandingOnTheDevice() throws Exception {
    InetAddress address = InetAddress.getByName("192.0.2.2");
    try (SoftPair pair =
        SoftPair.connected(
            List.of(List.of(InetAddress.getByName("192.0.2.1"))), List.of(List.of(address)))) {
      ReceiveList receives = new ReceiveList(1, 1);
      receives.local(0, pair.b.region, 0, 8);
      assertEquals(1, pair.b.queuePair.post(receives));
      AtomicBoolean failed = new AtomicBoolean();
      pair.network.trace(
          line -> {
            if (line.startsWith("sent 192.0.2.2 ") && failed.compareAndSet(false, true)) {
              throw new IllegalStateException("for the test: " + line);
            }
          });
      // There is no listener, and the rejection cannot be sent.
      InetSocketAddress nobody = new InetSocketAddress(address, 7471);
      FutureTask<Connection> connecting =
          new FutureTask<>(() -> pair.network.call(() -> Connection.connect(nobody)));
      Thread.ofPlatform().start(connecting);
      assertEquals(CompletionStatus.WR_FLUSH_ERR, SoftPair.await(pair.b.completions));
      connecting.cancel(true);
    }
  }
}
