package dev.verbena.testing;

import dev.verbena.soft.SoftNetwork;
import dev.verbena.verbs.Device;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.opentest4j.TestAbortedException;

/**
 * A veth pair in the lab. At one end, in the network namespace of the test, is a Soft-RoCE device;
 * the other end is in the namespace {@code udp}, for a software device over UDP in this JVM, since
 * Soft-RoCE has the UDP port of RoCE in its own namespace.
 *
 * <p>A test class registers it as a static extension; it exists as long as the tests of the class
 * run, with the networks that it has made.
 */
public final class UdpWire implements BeforeAllCallback, AfterAllCallback {
  /** The Soft-RoCE device. */
  public static final String DEVICE = "rxw";

  /** Its address, and that of the software device. */
  public static final String ROCE = "10.8.0.1";

  public static final String SOFT = "10.8.0.2";

  /** The same of IPv6. */
  public static final String ROCE6 = "fd00:8::1";

  public static final String SOFT6 = "fd00:8::2";

  private static final String ROCE_HARDWARE = "02:00:00:00:0d:01";
  private static final String SOFT_HARDWARE = "02:00:00:00:0d:02";

  /** The network namespace of the software device. */
  public static final String NAMESPACE = "udp";

  private static final Path PORT = Path.of("/sys/class/infiniband", DEVICE, "ports/1");

  private final List<SoftNetwork> networks = new ArrayList<>();
  private boolean made;

  /**
   * Makes the pair, with room for a path MTU of 4096. Neighbours are permanent: a network that
   * loses packets does not hinder their discovery.
   */
  @Override
  public void beforeAll(ExtensionContext context) throws Exception {
    if (Rig.labGuest().isEmpty()) {
      throw new TestAbortedException("makes a network namespace: in the lab only");
    }
    run("ip netns add " + NAMESPACE);
    run(
        "ip link add wa mtu 4200 address "
            + ROCE_HARDWARE
            + " type veth peer name wb mtu 4200 address "
            + SOFT_HARDWARE
            + " netns "
            + NAMESPACE);
    run("ip addr add " + ROCE + "/24 dev wa");
    run("ip addr add " + ROCE6 + "/64 dev wa nodad");
    run("ip link set wa up");
    run("ip neigh replace " + SOFT + " lladdr " + SOFT_HARDWARE + " dev wa");
    run("ip neigh replace " + SOFT6 + " lladdr " + SOFT_HARDWARE + " dev wa");
    String in = "ip -n " + NAMESPACE;
    run(in + " addr add " + SOFT + "/24 dev wb");
    run(in + " addr add " + SOFT6 + "/64 dev wb nodad");
    run(in + " link set wb up");
    run(in + " neigh replace " + ROCE + " lladdr " + ROCE_HARDWARE + " dev wb");
    run(in + " neigh replace " + ROCE6 + " lladdr " + ROCE_HARDWARE + " dev wb");
    run("rdma link add " + DEVICE + " type rxe netdev wa");
    boolean _ =
        Await.attempt(
            "the port becomes active",
            () -> Files.readString(PORT.resolve("state")).contains("ACTIVE") ? true : null);
    made = true;
  }

  private static void run(String command) throws Exception {
    try (Program program = Program.start(command.split(" "))) {
      program.endsWell();
    }
  }

  /** Calls code in the namespace of the software device. */
  public <T> T there(Callable<T> code) throws Exception {
    return Namespace.call(NAMESPACE, code);
  }

  /** A network with one software device, of one of its addresses. */
  public SoftNetwork network(String address) throws Exception {
    SoftNetwork network = there(() -> SoftNetwork.overUdp(InetAddress.getByName(address)));
    networks.add(network);
    return network;
  }

  /** The Soft-RoCE device. */
  public Device device() {
    return Device.named(DEVICE);
  }

  /** The index of a GID of the Soft-RoCE device: that of its IPv4 or of its IPv6 address. */
  public int gidIndex(boolean ipv6) throws IOException {
    for (int i = 0; ; i++) {
      String gid = Files.readString(PORT.resolve("gids/" + i));
      if (gid.startsWith(ipv6 ? "fd00" : "0000:0000:0000:0000:0000:ffff")) {
        return i;
      }
    }
  }

  /** Makes the network faulty in both directions, by {@code netem}, for as long as code runs. */
  public void under(String fault, Action code) throws Exception {
    String of = " root netem " + fault;
    try {
      run("tc qdisc add dev wa" + of);
      run("ip netns exec " + NAMESPACE + " tc qdisc add dev wb" + of);
      code.run();
    } finally {
      run("tc qdisc del dev wa root");
      run("ip netns exec " + NAMESPACE + " tc qdisc del dev wb root");
    }
  }

  /** Something that is done over the wire. */
  public interface Action {
    /** Does it. */
    void run() throws Exception;
  }

  /** The counters of the Soft-RoCE device. */
  public Map<String, Long> counters() throws IOException {
    Map<String, Long> counters = new TreeMap<>();
    try (Stream<Path> files = Files.list(PORT.resolve("hw_counters"))) {
      for (Path file : files.toList()) {
        if (!file.endsWith("lifespan")) {
          counters.put(
              file.getFileName().toString(), Long.parseLong(Files.readString(file).strip()));
        }
      }
    }
    return counters;
  }

  @Override
  public void afterAll(ExtensionContext context) throws Exception {
    if (!made) {
      return;
    }
    networks.forEach(SoftNetwork::close);
    run("rdma link delete " + DEVICE);
    run("ip link delete wa");
    run("ip netns delete " + NAMESPACE);
  }
}
