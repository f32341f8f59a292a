package dev.verbena.messages;

import dev.verbena.messages.PeerProcess.Order;
import dev.verbena.testing.Netem;
import dev.verbena.testing.Rig;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;

/** Soft-RoCE in the lab: the peer is another process on the same machine. */
final class EndsOnRoce implements Ends {
  private final PeerProcess peer;
  private final Connection client;
  private boolean isInterrupted;

  /** The peer outlives this object unless the row ends it. */
  EndsOnRoce(PeerProcess peer, ConnectionSettings settings) throws Exception {
    this.peer = peer;
    client = peer.connect(settings, Rig.addressA());
  }

  static PeerProcess startPeer() throws Exception {
    return PeerProcess.start(Place.ROCE, Rig.addressB(), 0);
  }

  @Override
  public Connection client() {
    return client;
  }

  @Override
  public String peer() {
    return peer.address();
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
    peer.end(client);
  }

  @Override
  public void peerIsKilled() throws InterruptedException {
    peer.kill();
  }

  @Override
  public void peerIsIdle() throws Exception {
    peer.stop();
  }

  /** The devices do not know: with a link that is down, Soft-RoCE reports only flushed requests. */
  @Override
  public void networkIsInterrupted() throws Exception {
    Netem.begin("loss 100%");
    isInterrupted = true;
  }

  private static void repair() {
    try {
      Netem.end();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while the network is repaired", e);
    }
  }

  /** The command ends when no process has the device open. */
  @Override
  public void deviceIsRemoved() throws Exception {
    new ProcessBuilder(List.of("rdma", "link", "delete", Rig.a().name()))
        .inheritIO()
        .start()
        .getOutputStream()
        .close();
  }

  @Override
  public void close() {
    if (isInterrupted) {
      repair();
    }
    client.close();
  }
}
