package dev.verbena.programs;

import dev.verbena.address.Mtu;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.tools.command.Peer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * The exchange of rdma-core's pingpong programs: the client sends a line for each queue pair, then
 * the server, then the client that it is done.
 */
final class PingPongExchange {
  private static final byte[] DONE = {'d', 'o', 'n', 'e', 0};

  private final List<QueuePairAddress> local;
  private final int lines;
  private final Mtu mtu;
  private final Duration timeout;

  /**
   * Creates the exchange of some queue pairs.
   *
   * @param lines the number of lines; those without a queue pair are zero
   * @param mtu the path MTU given to both ends
   * @param timeout the time within which the peer must answer
   */
  PingPongExchange(List<QueuePairAddress> local, int lines, Mtu mtu, Duration timeout) {
    this.local = local;
    this.lines = lines;
    this.mtu = mtu;
    this.timeout = timeout;
  }

  /**
   * Exchanges the addresses as server. The server is connected before the client knows its address,
   * so that no packet arrives too early.
   */
  List<QueuePairAddress> serve(int port, Consumer<List<QueuePairAddress>> connect)
      throws IOException {
    try (Peer peer = Peer.accept(port, timeout)) {
      List<QueuePairAddress> remote = read(peer);
      connect.accept(remote);
      peer.send(bytes());
      peer.receive(DONE.length, "that it is ready ('done')");
      return remote;
    }
  }

  List<QueuePairAddress> visit(String host, int port, Consumer<List<QueuePairAddress>> connect)
      throws IOException {
    try (Peer peer = Peer.connect(host, port, timeout)) {
      peer.send(bytes());
      List<QueuePairAddress> remote = read(peer);
      connect.accept(remote);
      peer.send(DONE);
      return remote;
    }
  }

  byte[] bytes() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    local.forEach(address -> bytes.writeBytes(PingPongAddress.bytes(address)));
    for (int i = local.size(); i < lines; i++) {
      bytes.writeBytes(PingPongAddress.NOTHING);
    }
    return bytes.toByteArray();
  }

  private List<QueuePairAddress> read(Peer peer) throws IOException {
    List<QueuePairAddress> remote = new ArrayList<>();
    for (int i = 0; i < lines; i++) {
      byte[] line = peer.receive(PingPongAddress.SIZE, "the address of its queue pair");
      if (i < local.size()) {
        remote.add(PingPongAddress.of(line, mtu, local.getFirst().gid()));
      }
    }
    return remote;
  }
}
