package dev.verbena.cm;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.messages.Connection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;

/** rdma_server and rdma_client: one message of 16 bytes each, the client's first. */
final class RdmaServer implements PeerProgram {
  private static final int SIZE = 16;

  @Override
  public String name() {
    return "rdma_server";
  }

  @Override
  public int port() {
    return 7483;
  }

  @Override
  public List<String> server(Host host) {
    return List.of("rdma_server", "-s", host.digits(), "-p", "" + port());
  }

  /** The client takes no address of its own: in one namespace it uses the server's device. */
  @Override
  public List<String> client(Host host, Host server) {
    return List.of("rdma_client", "-s", server.digits(), "-p", "" + port());
  }

  @Override
  public String proof() {
    return ": end 0";
  }

  @Override
  public void connect(InetAddress from, InetSocketAddress to) throws Exception {
    try (Connection server = PeerProgram.connect(from, to, SIZE)) {
      PeerProgram.sendLast(server, "sixteen bytes ..".getBytes(UTF_8));
      assertEquals(SIZE, server.receive(SOON).length);
    }
  }

  @Override
  public void serve(Listener listener) throws Exception {
    try (Connection client = PeerProgram.accept(listener, SIZE)) {
      assertEquals(SIZE, client.receive(SOON).length);
      PeerProgram.sendLast(client, new byte[SIZE]);
    }
  }
}
