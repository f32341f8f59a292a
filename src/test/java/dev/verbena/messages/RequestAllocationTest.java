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

/** Calls that block, and callbacks, allocate nothing on the Java heap in steady state. */
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

  private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  /** What is measured. */
  private interface Calls {
    void call() throws Exception;
  }

  @Test
  void callAllocatesNothing() throws Exception {
    measure((client, request, answer) -> () -> client.call(request, answer, Await.LIMIT));
  }

  /** The thread that polls does the work of the server's device, too; and the server answers. */
  @Test
  void callbackAllocatesNothing() throws Exception {
    measure(
        (client, request, answer) -> {
          Counting callback = new Counting();
          return () -> {
            int before = callback.answers;
            client.submit(request, Await.LIMIT, callback);
            while (callback.answers == before) {
              client.poll(Duration.ZERO);
            }
          };
        });
  }

  private static final class Counting implements RequestClient.Callback {
    private volatile int answers;

    @Override
    @SuppressWarnings("NonAtomicVolatileUpdate") // One thread at a time calls it.
    public void answered(Answer answer) {
      answers = answers + 1;
    }

    @Override
    public void failed(RuntimeException reason) {
      throw new AssertionError(reason);
    }
  }

  private interface Preparation {
    Calls prepare(RequestClient client, MemorySegment request, MemorySegment answer);
  }

  private void measure(Preparation preparation) throws Exception {
    try (SoftHosts hosts = SoftHosts.create();
        Arena arena = Arena.ofShared();
        RequestServer server =
            hosts.call(
                () ->
                    RequestServer.builder(
                            new InetSocketAddress(hosts.serverAddress(), 0),
                            request -> request.answer(8))
                        .settings(SETTINGS)
                        .clients(1)
                        .open())) {
      Faults _ = hosts.faults().none(); // A strict device keeps in objects what is late.
      Thread serving = Thread.ofPlatform().start(() -> run(server));
      InetSocketAddress address = new InetSocketAddress(hosts.serverAddress(), server.port());
      try (RequestClient client =
          hosts.call(() -> RequestClient.connect(address, SETTINGS.withLocalAddress(CLIENT)))) {
        Calls calls = preparation.prepare(client, arena.allocate(32), arena.allocate(32));
        for (int i = 0; i < WARM; i++) {
          calls.call();
        }
        long least = Long.MAX_VALUE;
        long leastOfServer = Long.MAX_VALUE;
        for (int round = 0; round < ROUNDS; round++) {
          long before = threads.getCurrentThreadAllocatedBytes();
          long beforeOfServer = threads.getThreadAllocatedBytes(serving.threadId());
          for (int i = 0; i < CALLS; i++) {
            calls.call();
          }
          leastOfServer =
              Math.min(
                  leastOfServer,
                  threads.getThreadAllocatedBytes(serving.threadId()) - beforeOfServer);
          least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
        }
        assertEquals(0, least, "bytes in " + CALLS + " calls");
        assertEquals(0, leastOfServer, "bytes of the server in " + CALLS + " calls");
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
