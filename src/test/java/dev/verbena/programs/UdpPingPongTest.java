package dev.verbena.programs;

import static dev.verbena.testing.Environment.FORKY;
import static dev.verbena.testing.Need.KERNEL;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Needs;
import dev.verbena.testing.Once;
import dev.verbena.testing.Ports;
import dev.verbena.testing.Program;
import dev.verbena.testing.Run;
import dev.verbena.testing.UdpWire;
import dev.verbena.testing.Words;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * {@code pingpong} on a software device over UDP against rdma-core's programs on Soft-RoCE, in both
 * roles, over IPv4 and IPv6, with each path MTU. Both ends sleep: two processors do not serve two
 * programs that poll and the thread of the device.
 */
@Needs(KERNEL)
@Once(
    value = FORKY,
    reason = "verbs in Java, with C programs whose messages are the same in all versions")
class UdpPingPongTest {
  private static final String HOST = "127.0.0.1";
  private static final String COUNT = "20";

  @RegisterExtension static final UdpWire wire = new UdpWire();
  private static Path ipv4;
  private static Path ipv6;

  /** The software device with one IP address, and the GID of Soft-RoCE that reaches it. */
  private record Path(SoftNetwork network, int gidIndex) {}

  @BeforeAll
  static void connect() throws Exception {
    ipv4 = new Path(wire.network(UdpWire.SOFT), wire.gidIndex(false));
    ipv6 = new Path(wire.network(UdpWire.SOFT6), wire.gidIndex(true));
  }

  private static String[] java(String service, String port, String... more) {
    return Words.of("pingpong", "--" + service, "-e", "-p", port, "-n", COUNT, more);
  }

  private static String[] c(Path path, String service, String port, String... more) {
    String gid = Integer.toString(path.gidIndex);
    String program = "ibv_" + service + "_pingpong";
    return Words.of(program, "-e", "-d", UdpWire.DEVICE, "-g", gid, "-p", port, "-n", COUNT, more);
  }

  private static void visitAndServe(Path path, String service, String... more) throws Exception {
    visit(path, service, more);
    serve(path, service, more);
  }

  private static void visit(Path path, String service, String... more) throws Exception {
    String port = Ports.free();
    String[] client = Words.of(java(service, port, more), HOST);
    try (Program server = Program.start(c(path, service, port, more))) {
      assertBounced(path.network.call(() -> Run.untilConnected(server::hasEnded, client)));
      assertTrue(server.endsWell().contains(COUNT + " iters in "), server::text);
    }
  }

  private static void serve(Path path, String service, String... more) throws Exception {
    String port = Ports.free();
    CompletableFuture<Run> server =
        path.network.call(() -> Run.inBackground(java(service, port, more)));
    String client = Program.untilConnected(server, Words.of(c(path, service, port, more), HOST));
    assertTrue(client.contains(COUNT + " iters in "), client);
    assertBounced(server.join());
  }

  private static void assertBounced(Run run) {
    assertTrue(run.succeeded().out().contains(COUNT + " iters in "), run.out());
  }

  @DeviceTest
  void reliableConnectionsWithEachPathMtu() throws Exception {
    visit(ipv4, "rc", "-m", "256", "-s", "10000");
    serve(ipv4, "rc", "-m", "512", "-s", "10000");
    visit(ipv6, "rc", "-m", "1024", "-s", "10000");
    serve(ipv6, "rc", "-m", "2048", "-s", "10000");
    visitAndServe(ipv4, "rc", "-m", "4096", "-s", "10000");
  }

  @DeviceTest
  void unreliableConnections() throws Exception {
    visitAndServe(ipv4, "uc");
    visitAndServe(ipv6, "uc");
  }

  @DeviceTest
  void datagrams() throws Exception {
    visitAndServe(ipv4, "ud");
    visitAndServe(ipv6, "ud");
  }

  @DeviceTest
  void sharedReceiveQueues() throws Exception {
    visitAndServe(ipv4, "srq");
    visitAndServe(ipv6, "srq");
  }
}
