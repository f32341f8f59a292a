package dev.verbena.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.raw.rdma_h;
import dev.verbena.testing.Await;
import dev.verbena.verbs.AddressHandle;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;

/**
 * udaddy: ten datagrams from the client, ten back. C waits for all of them and sends none again;
 * Java sends more than are waited for, since datagrams get lost.
 */
final class Udaddy implements PeerProgram {
  private static final Duration SHORTLY = Duration.ofMillis(500);

  @Override
  public String name() {
    return "udaddy";
  }

  /** The port cannot be chosen: -p is the port space. */
  @Override
  public int port() {
    return 7174;
  }

  @Override
  public PortSpace portSpace() {
    return PortSpace.UDP;
  }

  @Override
  public List<String> server(Host host) {
    return List.of("udaddy", "-b", host.digits());
  }

  @Override
  public List<String> client(Host host, Host server) {
    return List.of("udaddy", "-b", host.digits(), "-s", server.digits());
  }

  @Override
  public String proof() {
    return "data transfers complete";
  }

  @Override
  public void connect(InetAddress from, InetSocketAddress to) throws Exception {
    PeerProgram.asSoonAsSomebodyListens(
        () -> {
          InetSocketAddress own = new InetSocketAddress(from, 0);
          try (Endpoint client = Endpoint.resolve(PortSpace.UDP, own, to, SOON);
              NumberedDatagrams datagrams = new NumberedDatagrams(client.id())) {
            exchange(client, datagrams);
          }
          return null;
        });
  }

  private static void exchange(Endpoint client, NumberedDatagrams datagrams) throws Exception {
    DatagramParameters server =
        client.connect(ConnectionParameters.DEFAULT, new byte[0], SOON).datagram().orElseThrow();
    int number = server.queuePairNumber();
    try (AddressHandle handle = client.id().domain().createAddressHandle(server.path())) {
      boolean answered = false;
      for (int i = 0; i < NumberedDatagrams.COUNT; i++) {
        datagrams.send(handle, number, server.queueKey());
      }
      for (int i = 0; i < 2 * NumberedDatagrams.COUNT && !answered; i++) {
        answered = datagrams.receive(SHORTLY);
        if (!answered) {
          datagrams.send(handle, number, server.queueKey());
        }
      }
      assertTrue(answered, "no answer");
      assertEquals(number, datagrams.sender());
    }
  }

  @Override
  public void serve(Listener listener) throws Exception {
    try (Endpoint client = PeerProgram.request(listener);
        NumberedDatagrams datagrams = new NumberedDatagrams(client.id())) {
      client.accept(ConnectionParameters.DEFAULT, new byte[0], SOON);
      assertTrue(datagrams.receive(SOON), "no datagram");
      try (AddressHandle handle = datagrams.wayBack()) {
        for (int i = 0; i < 3 * NumberedDatagrams.COUNT; i++) {
          datagrams.send(handle, datagrams.sender(), rdma_h.RDMA_UDP_QKEY());
          Await.pass(Duration.ofMillis(10), "between datagrams, of which some may be lost");
        }
      }
    }
  }
}
