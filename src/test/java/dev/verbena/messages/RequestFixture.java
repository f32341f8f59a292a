package dev.verbena.messages;

import dev.verbena.soft.SoftHosts;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;

/** Servers and clients of requests on two software devices, which are closed after a test. */
abstract class RequestFixture {
  static final InetSocketAddress CLIENT =
      new InetSocketAddress(InetAddress.ofLiteral("192.0.2.1"), 0);

  final SoftHosts hosts = SoftHosts.create();
  final ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
  final List<AutoCloseable> opened = new ArrayList<>();

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable one : opened.reversed()) {
      one.close();
    }
    executor.close();
    hosts.close();
  }

  /** Starts a server. */
  RequestServer serve(RequestServer.Handler handler, UnaryOperator<RequestServer.Builder> settings)
      throws Exception {
    InetSocketAddress local = new InetSocketAddress(hosts.serverAddress(), 0);
    RequestServer server =
        hosts.call(() -> settings.apply(RequestServer.builder(local, handler)).open());
    opened.add(server);
    return server.start();
  }

  RequestClient connect(RequestServer server, ConnectionSettings settings) throws Exception {
    InetSocketAddress address = new InetSocketAddress(hosts.serverAddress(), server.port());
    RequestClient client =
        hosts.call(() -> RequestClient.connect(address, settings.withLocalAddress(CLIENT)));
    opened.add(client);
    return client;
  }
}
