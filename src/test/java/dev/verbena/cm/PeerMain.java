package dev.verbena.cm;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;

/**
 * Java in the place of rdma-core's programs, one after the other, in a JVM of its own.
 *
 * <p>Arguments: {@code serve} and own addresses; or {@code connect} and pairs of an own address and
 * a server's.
 */
final class PeerMain {
  static final List<PeerProgram> PEERS =
      List.of(new RpingPeer(), new Ucmatose(), new RdmaServer(), new Udaddy());

  /** Printed at the end, when all went well. */
  static final String DONE = "done";

  private PeerMain() {}

  /** What is printed when a server listens, or when a client begins. */
  static String turn(PeerProgram peer, InetAddress server) {
    return peer.name() + " at " + server.getHostAddress();
  }

  public static void main(String[] args) throws Exception {
    boolean serves = args[0].equals("serve");
    for (int i = 1; i < args.length; i += serves ? 1 : 2) {
      InetAddress own = InetAddress.getByName(args[i]);
      for (PeerProgram peer : PEERS) {
        if (serves) {
          serve(peer, own);
        } else {
          connect(peer, own, InetAddress.getByName(args[i + 1]));
        }
      }
    }
    System.out.println(DONE);
  }

  private static void serve(PeerProgram peer, InetAddress own) throws Exception {
    InetSocketAddress local = new InetSocketAddress(own, peer.port());
    try (Listener listener = Listener.open(peer.portSpace(), local, 0)) {
      System.out.println(turn(peer, own));
      peer.serve(listener);
    }
  }

  private static void connect(PeerProgram peer, InetAddress own, InetAddress server)
      throws Exception {
    System.out.println(turn(peer, server));
    peer.connect(own, new InetSocketAddress(server, peer.port()));
  }
}
