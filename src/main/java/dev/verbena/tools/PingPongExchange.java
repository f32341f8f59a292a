package dev.verbena.tools;

import dev.verbena.verbs.Mtu;
import dev.verbena.verbs.QueuePairAddress;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * How rdma-core's pingpong programs tell each other their queue pairs: the client a line for each,
 * then the server, then the client that it is done.
 */
final class PingPongExchange {
  private static final byte[] DONE = {'d', 'o', 'n', 'e', 0};

  private final List<QueuePairAddress> local;
  private final int lines;
  private final Mtu mtu;

  /**
   * Of some queue pairs.
   *
   * @param lines how many lines there are: what is more than queue pairs is zero
   * @param mtu what both ends were told
   */
  PingPongExchange(List<QueuePairAddress> local, int lines, Mtu mtu) {
    this.local = local;
    this.lines = lines;
    this.mtu = mtu;
  }

  /** The server is connected before the client knows its address, so no packet comes too soon. */
  List<QueuePairAddress> serve(int port, Consumer<List<QueuePairAddress>> connect)
      throws IOException {
    try (Peer peer = Peer.accept(port)) {
      List<QueuePairAddress> remote = read(peer);
      connect.accept(remote);
      peer.send(bytes());
      peer.receive(DONE.length);
      return remote;
    }
  }

  List<QueuePairAddress> visit(String host, int port, Consumer<List<QueuePairAddress>> connect)
      throws IOException {
    try (Peer peer = Peer.connect(host, port)) {
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
      byte[] line = peer.receive(PingPongAddress.SIZE);
      if (i < local.size()) {
        remote.add(PingPongAddress.of(line, mtu, local.getFirst().gid()));
      }
    }
    return remote;
  }
}
