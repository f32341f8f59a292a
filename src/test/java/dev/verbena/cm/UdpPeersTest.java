package dev.verbena.cm;

import static dev.verbena.testing.Environment.FORKY;
import static dev.verbena.testing.Need.KERNEL;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Once;
import dev.verbena.testing.UdpWire;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A software device over UDP against rdma-core's programs on Soft-RoCE, in both roles. */
@Needs(KERNEL)
@Once(value = FORKY, reason = "RDMA CM in Java, with C programs that PeersTest runs everywhere")
class UdpPeersTest {
  /** What Soft-RoCE counts when packets are lost, come twice or not in order. */
  private static final List<String> ERRORS =
      List.of("out_of_seq_request", "rcvd_seq_err", "retry_exceeded_err", "send_err");

  @RegisterExtension static final UdpWire wire = new UdpWire();

  /** Programs at both ends, on a network of one device. */
  private interface Programs {
    void run(SoftNetwork network) throws Exception;
  }

  private static Host host(String address) throws Exception {
    return new Host(null, InetAddress.getByName(address));
  }

  @DeviceTest
  void programsServeJava() throws Exception {
    connects(UdpWire.SOFT, UdpWire.ROCE, PeerMain.PEERS);
  }

  @DeviceTest
  void programsServeJavaOverIpv6() throws Exception {
    connects(UdpWire.SOFT6, UdpWire.ROCE6, List.of(new RpingPeer(), new Udaddy()));
  }

  @DeviceTest
  void javaServesPrograms() throws Exception {
    serves(UdpWire.SOFT, UdpWire.ROCE, PeerMain.PEERS);
  }

  @DeviceTest
  void javaServesProgramsOverIpv6() throws Exception {
    serves(UdpWire.SOFT6, UdpWire.ROCE6, List.of(new RpingPeer(), new Udaddy()));
  }

  private static void connects(String java, String c, List<PeerProgram> peers) throws Exception {
    withNetwork(
        java,
        network -> {
          for (PeerProgram peer : peers) {
            Host server = host(c);
            // A route is looked for in the namespace of the thread.
            PeersTest.connects(
                peer,
                server,
                () -> wire.there(() -> network.call(() -> connect(peer, host(java), server))));
          }
        });
  }

  private static Void connect(PeerProgram peer, Host from, Host to) throws Exception {
    peer.connect(from.address(), to.at(peer.port()));
    return null;
  }

  private static void serves(String java, String c, List<PeerProgram> peers) throws Exception {
    withNetwork(
        java,
        network ->
            network.call(
                () -> {
                  for (PeerProgram peer : peers) {
                    PeersTest.serves(peer, host(c), host(java));
                  }
                  return null;
                }));
  }

  /** Soft-RoCE receives no packet that it did not expect. */
  private static void withNetwork(String address, Programs programs) throws Exception {
    Map<String, Long> before = wire.counters();
    try (SoftNetwork network = wire.network(address)) {
      programs.run(network);
    }
    Map<String, Long> after = wire.counters();
    for (String error : ERRORS) {
      assertEquals(before.get(error), after.get(error), error);
    }
  }

  @DeviceTest
  void mckeyReceivesFromJava() throws Exception {
    InetSocketAddress group = MulticastTest.group("239.7.9.4");
    try (SoftNetwork network = wire.network(UdpWire.SOFT)) {
      MulticastTest.mckeyReceives(
          group, () -> member(network, group), host(UdpWire.ROCE).address());
    }
  }

  @DeviceTest
  void javaReceivesFromMckey() throws Exception {
    InetSocketAddress group = MulticastTest.group("239.7.9.5");
    try (SoftNetwork network = wire.network(UdpWire.SOFT)) {
      MulticastTest.mckeySends(group, () -> member(network, group), host(UdpWire.ROCE).address());
    }
  }

  /** A group is joined by a socket of its own, which must be in the namespace as well. */
  private static MulticastMember member(SoftNetwork network, InetSocketAddress group)
      throws Exception {
    return wire.there(
        () -> network.call(() -> MulticastTest.member(group, host(UdpWire.SOFT).address())));
  }
}
