package dev.verbena.messages;

import dev.verbena.messages.PeerProcess.Order;
import dev.verbena.soft.SoftNetwork;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;

/** Two JVMs, each with a software device over UDP. */
final class EndsOverUdp implements Ends {
  private static final InetAddress CLIENT = InetAddress.ofLiteral("127.0.0.1");
  private static final InetAddress PEER = InetAddress.ofLiteral("127.0.0.2");

  private final int port;
  private final List<PeerProcess> peers = new ArrayList<>();
  private final SoftNetwork network;
  private final Connection client;

  EndsOverUdp(ConnectionSettings settings) throws Exception {
    try (DatagramSocket socket = new DatagramSocket()) {
      port = socket.getLocalPort();
    }
    startPeer();
    network = SoftNetwork.overUdp(new InetSocketAddress(CLIENT, port));
    client = network.call(() -> peers.getFirst().connect(settings, CLIENT));
  }

  private void startPeer() throws Exception {
    peers.add(PeerProcess.start(Place.UDP, PEER, port));
  }

  @Override
  public Connection client() {
    return client;
  }

  @Override
  public String peer() {
    return PEER.getHostAddress();
  }

  private void order(Order order) throws InterruptedException {
    client.send(order.message());
  }

  @Override
  public void peerSends() throws InterruptedException {
    order(Order.SEND);
  }

  @Override
  public void peerCloses() throws InterruptedException {
    order(Order.CLOSE);
  }

  @Override
  public void peerEnds() throws InterruptedException {
    peers.getFirst().end(client);
  }

  @Override
  public void peerIsKilled() throws InterruptedException {
    peers.getFirst().kill();
  }

  @Override
  public void peerIsIdle() throws InterruptedException {
    order(Order.IDLE);
  }

  @Override
  public void hostStartsAgain() throws Exception {
    peerIsKilled();
    startPeer();
  }

  @Override
  public void hostStops() throws Exception {
    peers.getFirst().stop();
  }

  @Override
  public void networkIsInterrupted() {
    var _ = network.faults().portDown("udp0", 1);
  }

  @Override
  public void deviceIsRemoved() {
    network.removeDevice("udp0");
  }

  @Override
  public void close() {
    client.close();
    network.close();
    peers.forEach(PeerProcess::close);
  }
}
