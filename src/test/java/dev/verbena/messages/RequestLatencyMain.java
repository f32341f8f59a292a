package dev.verbena.messages;

import static dev.verbena.messages.ConnectionSettings.DEFAULT;

import dev.verbena.soft.SoftHosts;
import dev.verbena.testing.Await;
import dev.verbena.testing.Background;
import dev.verbena.values.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.FutureTask;

/**
 * Prints the median time of a call of {@link RequestClient} beside that of a message and its answer
 * over a {@link Connection}, both between software devices; that of a call with a value of 1 MiB
 * beside that of an RDMA read; and how many calls a number of clients make on one server, and how
 * long they take: arguments are the calls of a round, and the clients.
 */
public final class RequestLatencyMain {
  private static final int ROUNDS = 5;
  private static final int VALUE = 1 << 20;
  private static final InetSocketAddress CLIENT =
      new InetSocketAddress(InetAddress.ofLiteral("192.0.2.1"), 0);

  private RequestLatencyMain() {}

  private interface Step {
    void run() throws Exception;
  }

  public static void main(String[] arguments) throws Exception {
    int calls = Integer.parseInt(arguments[0]);
    int clients = Integer.parseInt(arguments[1]);
    try (SoftHosts hosts = SoftHosts.create()) {
      RequestServer server = serve(hosts, DEFAULT, 1);
      InetSocketAddress address = new InetSocketAddress(hosts.serverAddress(), server.port());
      Arena arena = Arena.ofAuto();
      MemorySegment request = arena.allocate(32);
      MemorySegment answer = arena.allocate(4096);
      try (RequestClient client =
          hosts.call(() -> RequestClient.connect(address, DEFAULT.withLocalAddress(CLIENT)))) {
        Thread.ofVirtual().start(() -> echo(hosts));
        Connection connection = hosts.client();
        for (int round = 0; round < ROUNDS; round++) {
          double plain =
              median(
                  calls,
                  () -> {
                    connection.send(request);
                    int _ = connection.receive(answer, Await.LIMIT);
                  });
          double call = median(calls, () -> client.call(request, answer, Await.LIMIT));
          System.out.printf(
              "ping-pong %.1f us, call %.1f us: %.2f times%n", plain, call, call / plain);
        }
      }
      server.close();
      large(hosts, calls / 10, 1);
      large(hosts, calls / 10, 4);
      many(hosts, clients, calls);
    }
  }

  private static double median(int calls, Step step) throws Exception {
    long[] times = new long[calls];
    for (int i = 0; i < calls; i++) {
      long start = System.nanoTime();
      step.run();
      times[i] = System.nanoTime() - start;
    }
    Arrays.sort(times);
    return times[calls / 2] / 1e3;
  }

  /** Returns the time for each step, if a number of threads take them. */
  private static double each(int threads, int steps, Step step) throws Exception {
    long start = System.nanoTime();
    List<FutureTask<Void>> tasks = new ArrayList<>();
    for (int thread = 0; thread < threads; thread++) {
      tasks.add(
          Background.inBackground(
              () -> {
                for (int i = 0; i < steps; i++) {
                  step.run();
                }
                return null;
              }));
    }
    for (FutureTask<Void> task : tasks) {
      task.get();
    }
    return (System.nanoTime() - start) / 1e3 / threads / steps;
  }

  private static RequestServer serve(SoftHosts hosts, ConnectionSettings settings, int clients)
      throws Exception {
    RequestServer server =
        hosts.call(
            () ->
                RequestServer.builder(
                        new InetSocketAddress(hosts.serverAddress(), 0),
                        request -> request.answer(Math.min(32, request.bytes().byteSize())))
                    .settings(settings)
                    .clients(clients)
                    .open());
    Thread.ofPlatform()
        .start(
            () -> {
              try {
                server.run();
              } catch (InterruptedException e) {
                throw new AssertionError(e);
              }
            });
    return server;
  }

  private static void echo(SoftHosts hosts) {
    try {
      Connection server = hosts.server();
      for (byte[] message = server.receive(); message != null; message = server.receive()) {
        server.send(message);
      }
    } catch (InterruptedException | RuntimeException e) {
      System.out.println("the echo ended: " + e.getMessage());
    }
  }

  /**
   * Values of 1 MiB in memory of the client, which the server reads, beside RDMA reads: by a number
   * of threads.
   */
  private static void large(SoftHosts hosts, int calls, int threads) throws Exception {
    RequestServer server = serve(hosts, DEFAULT, 1);
    InetSocketAddress address = new InetSocketAddress(hosts.serverAddress(), server.port());
    Connection reader = hosts.client();
    ProtectionDomain domain = hosts.server().domain();
    try (RequestClient client =
            hosts.call(() -> RequestClient.connect(address, DEFAULT.withLocalAddress(CLIENT)));
        MemoryRegion remote = domain.allocateMemory(VALUE, AccessFlag.REMOTE_READ);
        MemoryRegion local = reader.domain().allocateMemory(VALUE, AccessFlag.LOCAL_WRITE);
        MemoryRegion own = client.domain().allocateMemory(VALUE, AccessFlag.REMOTE_READ)) {
      MemorySegment answer = Arena.ofAuto().allocate(32);
      for (int round = 0; round < ROUNDS; round++) {
        double plain =
            each(threads, calls, () -> reader.read(local, 0, VALUE, RemoteMemory.of(remote), 0));
        double call = each(threads, calls, () -> client.call(own, 0, VALUE, answer, Await.LIMIT));
        System.out.printf(
            "%d at a time: RDMA read of 1 MiB %.1f us, call %.1f us: %.2f of its bandwidth%n",
            threads, plain, call, plain / call);
      }
    }
    server.close();
  }

  private static void many(SoftHosts hosts, int count, int calls) throws Exception {
    ConnectionSettings settings =
        DEFAULT.withSends(2).withMessageSize(256).withTimeout(Duration.ofMinutes(5));
    RequestServer server = serve(hosts, settings, count);
    InetSocketAddress address = new InetSocketAddress(hosts.serverAddress(), server.port());
    List<RequestClient> clients = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      clients.add(
          hosts.call(() -> RequestClient.connect(address, settings.withLocalAddress(CLIENT))));
    }
    long start = System.nanoTime();
    List<FutureTask<Void>> tasks = new ArrayList<>();
    int each = Math.max(1, calls * 10 / count);
    List<long[]> times = new ArrayList<>();
    for (RequestClient client : clients) {
      long[] own = new long[each];
      times.add(own);
      tasks.add(Background.inBackground(() -> callAll(client, own)));
    }
    for (FutureTask<Void> task : tasks) {
      task.get();
    }
    double seconds = (System.nanoTime() - start) / 1e9;
    long[] all = times.stream().flatMapToLong(Arrays::stream).sorted().toArray();
    System.out.printf(
        "%d clients: %d calls in %.1f s, %.0f calls/s; median %.1f ms, 99 %% below %.1f ms%n",
        count,
        each * count,
        seconds,
        each * count / seconds,
        all[all.length / 2] / 1e6,
        all[all.length * 99 / 100] / 1e6);
    clients.forEach(RequestClient::close);
    server.close();
  }

  private static Void callAll(RequestClient client, long[] times) throws InterruptedException {
    byte[] request = new byte[32];
    for (int i = 0; i < times.length; i++) {
      long start = System.nanoTime();
      if (client.call(request, Await.LIMIT).length != request.length) {
        throw new AssertionError("wrong answer");
      }
      times[i] = System.nanoTime() - start;
    }
    return null;
  }
}
