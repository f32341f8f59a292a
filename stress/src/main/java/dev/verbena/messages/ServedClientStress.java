package dev.verbena.messages;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import dev.verbena.cm.Endpoint;
import dev.verbena.cm.PortSpace;
import dev.verbena.internal.HalfOpenRequests;
import dev.verbena.soft.SoftHosts;
import dev.verbena.testing.Await;
import dev.verbena.verbs.CompletionQueue;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

/** The thread that runs a server, and another one whose handler answers a request. */
final class ServedClientStress {
  private static final int MAX_CLIENTS = 64;
  private static final int MESSAGE_SIZE = 8;
  private static final int MOST_PAUSES = 64;

  private static final SoftHosts HOSTS = SoftHosts.create();
  private static final RequestServer SERVER;
  private static final CompletionQueue QUEUE;
  private static final ServedRequests REQUESTS;

  static {
    try {
      SERVER =
          HOSTS.call(
              () ->
                  RequestServer.open(
                      new InetSocketAddress(HOSTS.serverAddress(), 0),
                      ConnectionSettings.DEFAULT,
                      MAX_CLIENTS,
                      (request, answer) -> 0));
    } catch (Exception e) {
      throw new AssertionError(e);
    }
    QUEUE = SERVER.domain().context().createCompletionQueue(16);
    REQUESTS = new ServedRequests(SERVER.domain(), 16, MESSAGE_SIZE, MESSAGE_SIZE);
  }

  private ServedClientStress() {}

  /** Returns an identifier on the server's device, which is not connected. */
  private static Endpoint endpoint() {
    try {
      return HOSTS.call(
          () ->
              Endpoint.resolve(
                  PortSpace.TCP,
                  new InetSocketAddress(HOSTS.serverAddress(), 0),
                  new InetSocketAddress(HOSTS.serverAddress(), 1),
                  Duration.ofHours(1)));
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  /** If the client is destroyed before its handler has answered, the handler throws. */
  @JCStressTest
  @State
  @Outcome(id = "0", expect = ACCEPTABLE, desc = "The client freed its place.")
  @Outcome(expect = FORBIDDEN, desc = "The client was destroyed twice, or never.")
  public static class EndBesideHandler {
    private final ServedClient client =
        new ServedClient(
            SERVER,
            new HalfOpenRequests.Pending<>(Optional.empty(), endpoint()),
            QUEUE,
            REQUESTS,
            1,
            MESSAGE_SIZE);
    private volatile boolean isBegun;

    @Actor
    public void run() {
      boolean _ = client.begin();
      isBegun = true;
      for (int i = ThreadLocalRandom.current().nextInt(MOST_PAUSES); i > 0; i--) {
        Thread.onSpinWait(); // Lets the handler come to any point.
      }
      client.end();
    }

    @Actor
    public void handle() {
      for (int tries = 0; !isBegun; tries++) {
        Await.spin(tries);
      }
      client.answer(0).set(ValueLayout.JAVA_BYTE, 0, (byte) 1);
      client.finish(0, 0);
    }

    @Arbiter
    public void count(I_Result result) {
      result.r1 = SERVER.clients();
    }
  }
}
