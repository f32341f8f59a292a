package dev.verbena.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.AnyKernel;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Program;
import dev.verbena.testing.Rig;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.opentest4j.TestAbortedException;

/**
 * A software device over UDP against rdma-core's programs on Soft-RoCE: the device is in a JVM of
 * its own in the network namespace {@code udp}, at one end of a veth pair; at the other, in the
 * initial namespace, is a Soft-RoCE device.
 */
@AnyKernel // One of the guests is enough for the two minutes that it takes.
class UdpPeersTest {
  private static final String NAMESPACE = "udp";
  private static final String DEVICE = "rxw";
  private static final String C_ADDRESS = "10.8.0.1";
  private static final String JAVA_ADDRESS = "10.8.0.2";
  private static final String C_ADDRESS6 = "fd00:8::1";
  private static final String JAVA_ADDRESS6 = "fd00:8::2";

  @BeforeAll
  static void wire() throws Exception {
    if (Rig.labGuest().isEmpty()) {
      throw new TestAbortedException("makes a network namespace: in the lab only");
    }
    run("ip netns add " + NAMESPACE);
    run("ip link add wa mtu 4200 type veth peer name wb mtu 4200 netns " + NAMESPACE);
    run("ip addr add " + C_ADDRESS + "/24 dev wa");
    run("ip addr add " + C_ADDRESS6 + "/64 dev wa nodad");
    run("ip link set wa up");
    String in = "ip -n " + NAMESPACE;
    run(in + " addr add " + JAVA_ADDRESS + "/24 dev wb");
    run(in + " addr add " + JAVA_ADDRESS6 + "/64 dev wb nodad");
    run(in + " link set wb up");
    run("rdma link add " + DEVICE + " type rxe netdev wa");
    Path state = Path.of("/sys/class/infiniband", DEVICE, "ports/1/state");
    while (!Files.readString(state).contains("ACTIVE")) {
      Thread.sleep(50);
    }
  }

  @AfterAll
  static void unwire() throws Exception {
    if (Rig.labGuest().isPresent()) {
      run("rdma link delete " + DEVICE);
      run("ip link delete wa");
      run("ip netns delete " + NAMESPACE);
    }
  }

  private static void run(String command) throws Exception {
    try (Program program = Program.start(command.split(" "))) {
      program.endsWell();
    }
  }

  /** A JVM in the namespace, whose only device is one over UDP. */
  private static Program java(String address, Class<?> main, String... arguments) throws Exception {
    List<String> command = new ArrayList<>(List.of("ip", "netns", "exec", NAMESPACE));
    List<String> java = Program.java(main, arguments);
    command.add(java.getFirst());
    command.add("-Ddev.verbena.soft=udp:" + address);
    command.addAll(java.subList(1, java.size()));
    return Program.start(command);
  }

  private static Host host(String address) throws Exception {
    return new Host(null, InetAddress.getByName(address));
  }

  @DeviceTest
  void programsServeJava() throws Exception {
    programsServeJava(C_ADDRESS, JAVA_ADDRESS);
  }

  @DeviceTest
  void programsServeJavaOverIpv6() throws Exception {
    programsServeJava(C_ADDRESS6, JAVA_ADDRESS6);
  }

  private static void programsServeJava(String cAddress, String javaAddress) throws Exception {
    Host c = host(cAddress);
    try (Program clients = java(javaAddress, PeerMain.class, "connect", javaAddress, cAddress)) {
      for (Peer peer : PeerMain.PEERS) {
        clients.says(PeerMain.turn(peer, c.address()));
        try (Program server = c.start(peer.server(c))) {
          assertTrue(server.endsWell().contains(peer.proof()), server::text);
        }
      }
      assertTrue(clients.endsWell().contains(PeerMain.DONE), clients::text);
    }
    assertNoErrors();
  }

  @DeviceTest
  void javaServesPrograms() throws Exception {
    javaServesPrograms(C_ADDRESS, JAVA_ADDRESS);
  }

  @DeviceTest
  void javaServesProgramsOverIpv6() throws Exception {
    javaServesPrograms(C_ADDRESS6, JAVA_ADDRESS6);
  }

  private static void javaServesPrograms(String cAddress, String javaAddress) throws Exception {
    Host c = host(cAddress);
    Host java = host(javaAddress);
    try (Program servers = java(javaAddress, PeerMain.class, "serve", javaAddress)) {
      for (Peer peer : PeerMain.PEERS) {
        servers.says(PeerMain.turn(peer, java.address()));
        try (Program client = c.start(peer.client(c, java))) {
          assertTrue(client.endsWell().contains(peer.proof()), client::text);
        }
      }
      assertTrue(servers.endsWell().contains(PeerMain.DONE), servers::text);
    }
    assertNoErrors();
  }

  /** Soft-RoCE received no packet that it did not expect. */
  private static void assertNoErrors() throws Exception {
    Path counters = Path.of("/sys/class/infiniband", DEVICE, "ports/1/hw_counters");
    for (String counter : List.of("out_of_seq_request", "rcvd_seq_err", "send_err")) {
      assertEquals("0", Files.readString(counters.resolve(counter)).strip(), counter);
    }
  }
}
