package dev.verbena.messages;

import static dev.verbena.messages.ConnectionSettings.DEFAULT;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.sun.management.ThreadMXBean;
import dev.verbena.soft.Faults;
import dev.verbena.soft.SoftHosts;
import dev.verbena.testing.Await;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** A blocking call allocates nothing on the Java heap in the thread that calls. */
class RequestAllocationTest {
  private static final int WARM = 2_000;
  private static final int CALLS = 200;

  /** In some rounds locks are contended, or code is not compiled yet. */
  private static final int ROUNDS = 20;

  /**
   * A wait for an event allocates. So does the software device when it raises one for the server,
   * in the thread that polls: the server polls, too.
   */
  private static final ConnectionSettings SETTINGS = DEFAULT.withSpin(Duration.ofMinutes(1));

  private static final InetSocketAddress CLIENT =
      new InetSocketAddress(InetAddress.ofLiteral("192.0.2.1"), 0);

  @Test
  void callAllocatesNothing() throws Exception {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    try (SoftHosts hosts = SoftHosts.create();
        Arena arena = Arena.ofShared();
        RequestServer server =
            hosts.call(
                () ->
                    RequestServer.open(
                        new InetSocketAddress(hosts.serverAddress(), 0),
                        SETTINGS,
                        1,
                        (request, answer) -> 8))) {
      Faults _ = hosts.faults().none(); // A strict device keeps in objects what is late.
      Thread.ofPlatform().start(() -> run(server));
      InetSocketAddress address = new InetSocketAddress(hosts.serverAddress(), server.port());
      try (RequestClient client =
          hosts.call(() -> RequestClient.connect(address, SETTINGS.withLocalAddress(CLIENT)))) {
        MemorySegment request = arena.allocate(32);
        MemorySegment answer = arena.allocate(32);
        for (int i = 0; i < WARM; i++) {
          client.call(request, answer, Await.LIMIT);
        }
        long least = Long.MAX_VALUE;
        for (int round = 0; round < ROUNDS; round++) {
          long before = threads.getCurrentThreadAllocatedBytes();
          for (int i = 0; i < CALLS; i++) {
            client.call(request, answer, Await.LIMIT);
          }
          least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
        }
        assertEquals(0, least, "bytes in " + CALLS + " calls");
      }
    }
  }

  private static void run(RequestServer server) {
    try {
      server.run();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    } catch (IllegalStateException e) {
      // The server is closed.
    }
  }
}
