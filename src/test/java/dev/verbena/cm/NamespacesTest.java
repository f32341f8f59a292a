package dev.verbena.cm;

import static dev.verbena.testing.Need.CM;
import static dev.verbena.testing.Need.KERNEL;
import static dev.verbena.testing.Need.TWO_HOSTS;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Program;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;

/**
 * Java and rdma-core's programs in two network namespaces, as on two hosts, over IPv4 and IPv6.
 * Java runs in a JVM of its own, since a JVM lives in one namespace.
 */
@Needs({CM, KERNEL, TWO_HOSTS})
class NamespacesTest {
  /** One address family: a host with a client and a host with servers. */
  private record Family(Host left, Host right) {
    static List<Family> both() {
      return List.of(
          new Family(Host.left4(), Host.right4()), new Family(Host.left6(), Host.right6()));
    }
  }

  private static Program javaServers() throws Exception {
    return Host.right4()
        .start(
            Program.java(PeerMain.class, "serve", Host.right4().digits(), Host.right6().digits()));
  }

  private static Program javaClients() throws Exception {
    return Host.left4()
        .start(
            Program.java(
                PeerMain.class,
                "connect",
                Host.left4().digits(),
                Host.right4().digits(),
                Host.left6().digits(),
                Host.right6().digits()));
  }

  @DeviceTest
  void javaServesJava() throws Exception {
    try (Program servers = javaServers();
        Program clients = javaClients()) {
      assertTrue(clients.endsWell().contains(PeerMain.DONE), clients::text);
      assertTrue(servers.endsWell().contains(PeerMain.DONE), servers::text);
    }
  }

  @DeviceTest
  void javaServesPrograms() throws Exception {
    try (Program servers = javaServers()) {
      for (Family family : Family.both()) {
        for (PeerProgram peer : PeerMain.PEERS) {
          servers.says(PeerMain.turn(peer, family.right().address()));
          List<String> command = peer.client(family.left(), family.right());
          try (Program client = family.left().start(command)) {
            assertTrue(client.endsWellBeside(servers).contains(peer.proof()), client::text);
          }
        }
      }
      assertTrue(servers.endsWell().contains(PeerMain.DONE), servers::text);
    }
  }

  @DeviceTest
  void programsServeJava() throws Exception {
    try (Program clients = javaClients()) {
      for (Family family : Family.both()) {
        for (PeerProgram peer : PeerMain.PEERS) {
          clients.says(PeerMain.turn(peer, family.right().address()));
          try (Program server = family.right().start(peer.server(family.right()))) {
            assertTrue(server.endsWellBeside(clients).contains(peer.proof()), server::text);
          }
        }
      }
      assertTrue(clients.endsWell().contains(PeerMain.DONE), clients::text);
    }
  }

  private static List<String> java(String role, Host own, String group) {
    return Program.java(MulticastMain.class, role, own.digits(), group);
  }

  @DeviceTest
  void javaAndMckeyReceiveFromJava() throws Exception {
    String group = "239.7.9.1";
    InetSocketAddress address = new InetSocketAddress(InetAddress.getByName(group), 0);
    List<String> mckey = MulticastTest.mckey(Host.right4().address(), address, "-C", "3");
    try (Program receiver = Host.right4().start(java("receive", Host.right4(), group));
        Program mckeys = Host.right4().start(mckey)) {
      receiver.says(MulticastMain.JOINED);
      try (Program sender = Host.left4().start(java("send", Host.left4(), group))) {
        sender.says(MulticastMain.JOINED);
        assertTrue(receiver.endsWell().contains(MulticastMain.RECEIVED), receiver::text);
        assertTrue(mckeys.endsWell().contains("data transfers complete"), mckeys::text);
      }
    }
  }

  @DeviceTest
  void javaReceivesFromMckey() throws Exception {
    String group = "239.7.9.2";
    InetSocketAddress address = new InetSocketAddress(InetAddress.getByName(group), 0);
    List<String> mckey = MulticastTest.mckeySending(Host.right4().address(), address);
    try (Program receiver = Host.left4().start(java("receive", Host.left4(), group))) {
      receiver.says(MulticastMain.JOINED);
      while (receiver.process().isAlive() && !receiver.text().contains(MulticastMain.RECEIVED)) {
        try (Program sender = Host.right4().start(mckey)) {
          sender.endsWell();
        }
      }
      assertTrue(receiver.endsWell().contains(MulticastMain.RECEIVED), receiver::text);
    }
  }
}
