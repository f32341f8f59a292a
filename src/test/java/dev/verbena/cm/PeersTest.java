package dev.verbena.cm;

import static dev.verbena.testing.Need.CM;
import static dev.verbena.testing.Need.PEERS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Program;
import dev.verbena.testing.UdpWire;

/** Java against rdma-core's own programs, as client and as server, from one device to the other. */
@Needs({CM, PEERS})
class PeersTest {
  @DeviceTest
  void rpingServesJava() throws Exception {
    connects(new RpingPeer(), Host.a4(), Host.b4());
  }

  @DeviceTest
  void rpingServesJavaOverIpv6() throws Exception {
    connects(new RpingPeer(), Host.a6(), Host.b6());
  }

  @DeviceTest
  void javaServesRping() throws Exception {
    serves(new RpingPeer(), Host.a4(), Host.b4());
  }

  @DeviceTest
  void javaServesRpingOverIpv6() throws Exception {
    serves(new RpingPeer(), Host.a6(), Host.b6());
  }

  @DeviceTest
  void ucmatoseServesJava() throws Exception {
    connects(new Ucmatose(), Host.a4(), Host.b4());
  }

  @DeviceTest
  void ucmatoseServesJavaOverIpv6() throws Exception {
    connects(new Ucmatose(), Host.a6(), Host.b6());
  }

  @DeviceTest
  void javaServesUcmatose() throws Exception {
    serves(new Ucmatose(), Host.a4(), Host.b4());
  }

  @DeviceTest
  void javaServesUcmatoseOverIpv6() throws Exception {
    serves(new Ucmatose(), Host.a6(), Host.b6());
  }

  @DeviceTest
  void rdmaServerServesJava() throws Exception {
    connects(new RdmaServer(), Host.a4(), Host.b4());
  }

  @DeviceTest
  void rdmaServerServesJavaOverIpv6() throws Exception {
    connects(new RdmaServer(), Host.a6(), Host.b6());
  }

  @DeviceTest
  void javaServesRdmaClient() throws Exception {
    serves(new RdmaServer(), Host.a4(), Host.b4());
  }

  @DeviceTest
  void javaServesRdmaClientOverIpv6() throws Exception {
    serves(new RdmaServer(), Host.a6(), Host.b6());
  }

  @DeviceTest
  void udaddyServesJava() throws Exception {
    connects(new Udaddy(), Host.a4(), Host.b4());
  }

  @DeviceTest
  void udaddyServesJavaOverIpv6() throws Exception {
    connects(new Udaddy(), Host.a6(), Host.b6());
  }

  @DeviceTest
  void javaServesUdaddy() throws Exception {
    serves(new Udaddy(), Host.a4(), Host.b4());
  }

  @DeviceTest
  void javaServesUdaddyOverIpv6() throws Exception {
    serves(new Udaddy(), Host.a6(), Host.b6());
  }

  /** Java is the client. */
  static void connects(PeerProgram peer, Host java, Host c) throws Exception {
    connects(peer, c, () -> peer.connect(java.address(), c.at(peer.port())));
  }

  static void connects(PeerProgram peer, Host c, UdpWire.Action java) throws Exception {
    try (Program server = c.start(peer.server(c))) {
      java.run();
      assertTrue(server.endsWell().contains(peer.proof()), server::text);
    }
  }

  /** Java is the server. */
  static void serves(PeerProgram peer, Host c, Host java) throws Exception {
    try (Listener listener = Listener.open(peer.portSpace(), java.at(peer.port()), 0);
        Program client = c.start(peer.client(c, java))) {
      assertEquals(peer.port(), listener.port());
      peer.serve(listener);
      assertTrue(client.endsWell().contains(peer.proof()), client::text);
    }
  }
}
