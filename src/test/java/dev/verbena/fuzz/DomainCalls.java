package dev.verbena.fuzz;

import dev.verbena.cm.Listener;
import dev.verbena.messages.Connection;
import dev.verbena.messages.ConnectionSettings;
import dev.verbena.messages.RequestServer;
import dev.verbena.messages.RingWriter;
import dev.verbena.soft.SoftHosts;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.RemoteMemory;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.FutureTask;

/** Connections with settings that have a domain of another device. */
final class DomainCalls {
  private DomainCalls() {}

  private interface Accepting {
    void accept(Listener listener) throws Exception;
  }

  static void add(
      Map<String, OtherDeviceTest.Call> calls, SoftHosts hosts, MemoryRegion own, QueuePair other) {
    ConnectionSettings settings = ConnectionSettings.DEFAULT.withDomain(other.domain());
    RemoteMemory ring = RemoteMemory.at(0, 128 + 64, 0);
    InetSocketAddress server = new InetSocketAddress(hosts.serverAddress(), 1);
    calls.put(
        "ConnectionSettings.withDomain(ProtectionDomain)",
        () ->
            hosts.call(
                () ->
                    Connection.connect(
                        server,
                        settings.withLocalAddress(new InetSocketAddress(server.getAddress(), 0)))));
    calls.put(
        "Connection.accept(Endpoint, ConnectionSettings)",
        () -> accepting(hosts, listener -> Connection.accept(listener.take(), settings)));
    calls.put(
        "Connection.accept(Listener, ConnectionSettings)",
        () -> accepting(hosts, listener -> Connection.accept(listener, settings)));
    calls.put(
        "RequestServer.Builder.settings(ConnectionSettings)",
        () -> RequestServer.builder(server, _ -> {}).settings(settings).open());
    calls.put(
        "RingWriter.attach(QueuePair, CompletionQueue, RemoteMemory, Duration)",
        () ->
            RingWriter.allocate(own.domain(), 64)
                .attach(
                    other, own.domain().context().createCompletionQueue(1), ring, Duration.ZERO));
  }

  /** Accepts a client, which is rejected. */
  private static void accepting(SoftHosts hosts, Accepting how) throws Exception {
    try (Listener listener =
        hosts.call(() -> Listener.open(new InetSocketAddress(hosts.serverAddress(), 0)))) {
      InetSocketAddress server = new InetSocketAddress(hosts.serverAddress(), listener.port());
      Thread.ofPlatform()
          .daemon()
          .start(new FutureTask<>(() -> hosts.call(() -> Connection.connect(server))));
      how.accept(listener);
    }
  }
}
