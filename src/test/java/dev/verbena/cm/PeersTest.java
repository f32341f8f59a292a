package dev.verbena.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Program;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;

/**
 * Java against rdma-core's own programs, as client and as server, from one device to the other .
 */
@Tag("P-11")
@Tag("P-12")
@Tag("P-13")
class PeersTest {
  @DeviceTest
  @DisplayName("rping -s serves a Java client, over IPv4")
  void clientOfRping() throws Exception {
    connects(new Rping(), Host.a4(), Host.b4());
  }

  @DeviceTest
  @DisplayName("rping -s serves a Java client, over IPv6")
  void clientOfRpingOverIpv6() throws Exception {
    connects(new Rping(), Host.a6(), Host.b6());
  }

  @DeviceTest
  @DisplayName("rping -c is served by Java, over IPv4")
  void serverOfRping() throws Exception {
    serves(new Rping(), Host.a4(), Host.b4());
  }

  @DeviceTest
  @DisplayName("rping -c is served by Java, over IPv6")
  void serverOfRpingOverIpv6() throws Exception {
    serves(new Rping(), Host.a6(), Host.b6());
  }

  @DeviceTest
  @DisplayName("ucmatose serves a Java client, over IPv4")
  void clientOfUcmatose() throws Exception {
    connects(new Ucmatose(), Host.a4(), Host.b4());
  }

  @DeviceTest
  @DisplayName("ucmatose serves a Java client, over IPv6")
  void clientOfUcmatoseOverIpv6() throws Exception {
    connects(new Ucmatose(), Host.a6(), Host.b6());
  }

  @DeviceTest
  @DisplayName("ucmatose -s is served by Java, over IPv4")
  void serverOfUcmatose() throws Exception {
    serves(new Ucmatose(), Host.a4(), Host.b4());
  }

  @DeviceTest
  @DisplayName("ucmatose -s is served by Java, over IPv6")
  void serverOfUcmatoseOverIpv6() throws Exception {
    serves(new Ucmatose(), Host.a6(), Host.b6());
  }

  @DeviceTest
  @DisplayName("rdma_server serves a Java client, over IPv4")
  void clientOfRdmaServer() throws Exception {
    connects(new RdmaServer(), Host.a4(), Host.b4());
  }

  @DeviceTest
  @DisplayName("rdma_server serves a Java client, over IPv6")
  void clientOfRdmaServerOverIpv6() throws Exception {
    connects(new RdmaServer(), Host.a6(), Host.b6());
  }

  @DeviceTest
  @DisplayName("rdma_client is served by Java, over IPv4")
  void serverOfRdmaClient() throws Exception {
    serves(new RdmaServer(), Host.a4(), Host.b4());
  }

  @DeviceTest
  @DisplayName("rdma_client is served by Java, over IPv6")
  void serverOfRdmaClientOverIpv6() throws Exception {
    serves(new RdmaServer(), Host.a6(), Host.b6());
  }

  @DeviceTest
  @DisplayName("udaddy serves a Java client, over IPv4")
  void clientOfUdaddy() throws Exception {
    connects(new Udaddy(), Host.a4(), Host.b4());
  }

  @DeviceTest
  @DisplayName("udaddy serves a Java client, over IPv6")
  void clientOfUdaddyOverIpv6() throws Exception {
    connects(new Udaddy(), Host.a6(), Host.b6());
  }

  @DeviceTest
  @DisplayName("udaddy -s is served by Java, over IPv4")
  void serverOfUdaddy() throws Exception {
    serves(new Udaddy(), Host.a4(), Host.b4());
  }

  @DeviceTest
  @DisplayName("udaddy -s is served by Java, over IPv6")
  void serverOfUdaddyOverIpv6() throws Exception {
    serves(new Udaddy(), Host.a6(), Host.b6());
  }

  /** Java is the client. */
  private static void connects(Peer peer, Host java, Host c) throws Exception {
    try (Program server = c.start(peer.server(c))) {
      peer.connect(java.address(), c.at(peer.port()));
      assertTrue(server.endsWell().contains(peer.proof()), server::text);
    }
  }

  /** Java is the server. */
  private static void serves(Peer peer, Host c, Host java) throws Exception {
    try (Listener listener = Listener.open(peer.portSpace(), java.at(peer.port()), 0);
        Program client = c.start(peer.client(c, java))) {
      assertEquals(peer.port(), listener.port());
      peer.serve(listener);
      assertTrue(client.endsWell().contains(peer.proof()), client::text);
    }
  }
}
