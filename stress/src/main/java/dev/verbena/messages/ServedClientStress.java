package dev.verbena.messages;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import dev.verbena.cm.Endpoint;
import dev.verbena.cm.Listener;
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
  private static final ServedClients CLIENTS;

  static {
    try {
      Listener listener =
          HOSTS.call(() -> Listener.open(new InetSocketAddress(HOSTS.serverAddress(), 0)));
      SERVER =
          HOSTS.call(
              () ->
                  RequestServer.builder(
                          new InetSocketAddress(HOSTS.serverAddress(), 0),
                          request -> request.answer(0))
                      .clients(MAX_CLIENTS)
                      .open());
      QUEUE = SERVER.domain().context().createCompletionQueue(16);
      CLIENTS = new ServedClients(SERVER, listener, QUEUE, ConnectionSettings.DEFAULT, MAX_CLIENTS);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
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
            CLIENTS,
            new HalfOpenRequests.Pending<>(Optional.empty(), endpoint()),
            QUEUE,
            new RequestFrame.Terms(1, MESSAGE_SIZE));
    private Request request;
    private volatile boolean isBegun;

    @Actor
    public void run() {
      MessageSlots messages = client.queues().incoming();
      RequestFrame.write(messages.region().memory(), 0, 0, RequestFrame.REQUEST, 0);
      request = client.begin(0, RequestFrame.HEADER, 0);
      boolean _ = client.takeAnswerPlace(request);
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
      request.answer().set(ValueLayout.JAVA_BYTE, 0, (byte) 1);
      client.finish(request, request.place(), false);
      client.flush();
    }

    @Arbiter
    public void count(I_Result result) {
      result.r1 = CLIENTS.count();
    }
  }
}
