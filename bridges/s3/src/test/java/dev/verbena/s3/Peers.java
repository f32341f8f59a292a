package dev.verbena.s3;

import dev.verbena.address.GidEntry;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.s3.peer.ElbenchoServer;
import dev.verbena.s3.peer.ForeignClient;
import dev.verbena.s3.peer.S3RdmaServer;
import dev.verbena.s3.server.Operation;
import dev.verbena.s3.server.Profile;
import dev.verbena.s3.server.S3Server;
import dev.verbena.values.CompletionStatus;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Stream;

/** Checks the bridge with the implementation of another project: {@code bridges/s3/peers}. */
final class Peers {
  private static final int SIZE = 1 << 20;

  private enum Family {
    IPV4,
    IPV6
  }

  private final Device device = Device.named(System.getenv("VERBENA_DEVICE_A"));
  private final Device other = Device.named(System.getenv("VERBENA_DEVICE_B"));
  private final Path file;

  private Peers(Path file) {
    this.file = file;
  }

  /** Takes the name of a peer, and its file. Exits with status 0 if all checks pass. */
  public static void main(String[] arguments) throws IOException {
    Peers peers = new Peers(Path.of(arguments[1]));
    switch (arguments[0]) {
      case "s3rdma" -> peers.s3rdma();
      case "versity" -> peers.versity();
      case "elbencho" -> peers.elbencho();
      case "elbencho-declines" -> peers.elbenchoDeclines();
      default -> throw new IllegalArgumentException("no such peer: " + arguments[0]);
    }
    System.exit(0); // Threads of a library may still run.
  }

  private void s3rdma() throws IOException {
    for (Family family : Family.values()) {
      int gid = gid(device, family);
      server("s3rdma, " + family, gid, new S3RdmaServer(file, other.name(), gid(other, family)));
      client("s3rdma, " + family, ForeignClient.s3rdma(file, device.name(), gid, SIZE));
    }
  }

  private void versity() throws IOException {
    for (Family family : Family.values()) {
      int gid = gid(device, family);
      client("versity, " + family, ForeignClient.versity(file, device.name(), gid, SIZE));
    }
  }

  /** The server has an address of IPv4 only. Its chunks are smaller than the objects. */
  private void elbencho() throws IOException {
    Map<String, String> settings = settings(gid(device, Family.IPV4), true);
    String address = System.getenv("VERBENA_ADDRESS_B");
    try (ElbenchoServer server =
        new ElbenchoServer(file, "--no-cuobj", "--rdma-addr", address, "--bufsize", "1048576")) {
      PeerProgram.checkRdma("elbencho", server.endpoint(), settings);
    }
    try (ElbenchoServer server = new ElbenchoServer(file, "--no-rdma")) {
      PeerProgram.checkDeclines(
          "elbencho without RDMA", server.endpoint(), settings, S3Counter.DECLINED_BY_DEVICE);
    }
  }

  private void elbenchoDeclines() throws IOException {
    Map<String, String> settings = settings(gid(device, Family.IPV4), false);
    try (ElbenchoServer server = new ElbenchoServer(file, "--no-rdma")) {
      PeerProgram.checkDeclines(
          "elbencho without RDMA", server.endpoint(), settings, S3Counter.DECLINED_BY_SERVER);
    }
  }

  private Map<String, String> settings(int gid, boolean isConnected) {
    return Map.of("device", device.name() + ":" + gid, "connected", String.valueOf(isConnected));
  }

  /** Prints that a check passed, or throws. */
  static void check(String what, boolean isTrue) {
    if (!isTrue) {
      throw new AssertionError("FAILED: " + what);
    }
    System.out.println("passed: " + what);
  }

  /** Another server below the HTTP of the test server, and the bridge as the client. */
  private void server(String name, int gid, S3RdmaServer mover) throws IOException {
    try (S3Server server = testServer()) {
      server.mover(mover);
      PeerProgram.checkRdma(name, server.uri().getAuthority(), settings(gid, false));
      check(
          name + ": nothing was in HTTP bodies",
          Stream.of(Operation.PUT_OBJECT, Operation.UPLOAD_PART, Operation.GET_OBJECT)
              .mapToLong(o -> server.counters().httpReceived(o) + server.counters().httpSent(o))
              .allMatch(bytes -> bytes == 0));
    }
  }

  /** Another client, and the test server. */
  private void client(String name, ForeignClient client) throws IOException {
    try (S3Server server = testServer()) {
      dev.verbena.s3.server.Token token = dev.verbena.s3.server.Token.parse(client.token());
      QueuePairAddress target = QueuePairAddress.of(token.target(), token.gid());
      check(
          name + ": the client's token is as the bridge makes it",
          Token.of(target, client.memory().address(), SIZE, token.rkey()).equals(client.token()));
      byte[] data = Rig.random(SIZE);
      server.mover().write(token, data);
      check(name + ": the client has what the server wrote", isIn(client.memory(), data));
      client.memory().asByteBuffer().put(Rig.random(SIZE + 1), 0, SIZE);
      data = server.mover().read(token);
      check(name + ": the server read what the client has", isIn(client.memory(), data));
      client.deregister().run();
      check(
          name + ": an access after the client deregistered fails",
          server.lateWrite(client.token(), data) == CompletionStatus.REM_ACCESS_ERR);
    }
  }

  private static boolean isIn(MemorySegment memory, byte[] data) {
    return memory.mismatch(MemorySegment.ofArray(data)) < 0;
  }

  private S3Server testServer() throws IOException {
    return S3Server.start(InetAddress.getLoopbackAddress(), other, Profile.SPEC);
  }

  private static int gid(Device device, Family family) {
    try (Context context = device.open()) {
      return context.gidTable().stream()
          .filter(entry -> !entry.gid().isLinkLocal())
          .filter(entry -> entry.gid().isIpv4Mapped() == (family == Family.IPV4))
          .mapToInt(GidEntry::index)
          .findFirst()
          .orElseThrow();
    }
  }
}
