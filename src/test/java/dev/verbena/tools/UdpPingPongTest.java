package dev.verbena.tools;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.soft.SoftNetwork;
import dev.verbena.testing.AnyKernel;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Program;
import dev.verbena.testing.UdpWire;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/**
 * {@code pingpong} on a software device over UDP against rdma-core's programs on Soft-RoCE, in both
 * roles, with each path MTU. Both ends sleep: two processors do not serve two programs that poll
 * and the thread of the device.
 */
@AnyKernel
class UdpPingPongTest {
  private static final String HOST = "127.0.0.1";
  private static final String COUNT = "20";

  private static UdpWire wire;
  private static SoftNetwork network;

  @BeforeAll
  static void wire() throws Exception {
    wire = UdpWire.make();
    network = wire.network(UdpWire.SOFT);
  }

  @AfterAll
  static void unwire() throws Exception {
    if (wire != null) {
      network.close();
      wire.close();
    }
  }

  private static String[] java(String service, String port, String... more) {
    return Words.of("pingpong", "--" + service, "-e", "-p", port, "-n", COUNT, more);
  }

  private static String[] c(String service, String port, String... more) throws Exception {
    String gid = Integer.toString(wire.gidIndex(false));
    String program = "ibv_" + service + "_pingpong";
    return Words.of(program, "-e", "-d", UdpWire.DEVICE, "-g", gid, "-p", port, "-n", COUNT, more);
  }

  private static void visitAndServe(String service, String... more) throws Exception {
    visit(service, more);
    serve(service, more);
  }

  private static void visit(String service, String... more) throws Exception {
    String port = Ports.free();
    try (Program server = Program.start(c(service, port, more))) {
      assertBounced(onUdp(() -> Run.untilConnected(Words.of(java(service, port, more), HOST))));
      assertTrue(server.endsWell().contains(COUNT + " iters in "), server::text);
    }
  }

  private static void serve(String service, String... more) throws Exception {
    String port = Ports.free();
    CompletableFuture<Run> server = onUdp(() -> Run.inBackground(java(service, port, more)));
    String client = Program.untilConnected(Words.of(c(service, port, more), HOST));
    assertTrue(client.contains(COUNT + " iters in "), client);
    assertBounced(server.join());
  }

  private static <T> T onUdp(Callable<T> code) throws Exception {
    return network.call(code);
  }

  private static void assertBounced(Run run) {
    assertTrue(run.succeeded().out().contains(COUNT + " iters in "), run.out());
  }

  @DeviceTest
  void reliableConnectionsWithEachPathMtu() throws Exception {
    visit("rc", "-m", "256", "-s", "10000");
    serve("rc", "-m", "512", "-s", "10000");
    visit("rc", "-m", "1024", "-s", "10000");
    serve("rc", "-m", "2048", "-s", "10000");
    visitAndServe("rc", "-m", "4096", "-s", "10000");
  }

  @DeviceTest
  void unreliableConnections() throws Exception {
    visitAndServe("uc");
  }

  @DeviceTest
  void datagrams() throws Exception {
    visitAndServe("ud");
  }

  @DeviceTest
  void sharedReceiveQueues() throws Exception {
    visitAndServe("srq");
  }
}
