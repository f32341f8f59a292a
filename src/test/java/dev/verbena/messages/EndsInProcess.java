package dev.verbena.messages;

import dev.verbena.messages.ConnectionTest.Pair;
import dev.verbena.soft.SoftHosts;
import java.net.InetAddress;

/** Both ends in this JVM, on software devices. */
final class EndsInProcess implements Ends {
  private final SoftHosts hosts = SoftHosts.create();
  private final Pair pair;

  EndsInProcess(ConnectionSettings settings) throws Exception {
    pair =
        hosts.call(
            () ->
                Pair.between(
                    InetAddress.ofLiteral("192.0.2.1"),
                    hosts.serverAddress(),
                    settings,
                    Place.SOFT.settings));
  }

  @Override
  public Connection client() {
    return pair.client();
  }

  @Override
  public String peer() {
    return hosts.serverAddress().getHostAddress();
  }

  @Override
  public void peerSends() throws Exception {
    pair.server().send(new byte[1]);
  }

  @Override
  public void peerCloses() {
    pair.server().close();
  }

  @Override
  public void peerEnds() {
    pair.server().endpoint().close();
  }

  @Override
  public void peerIsIdle() {
    // The peer never calls receive().
  }

  @Override
  public void hostFails() {
    var _ = hosts.faults().kill("server");
  }

  @Override
  public void hostStartsAgain() {
    hostFails();
    hosts.restart("server");
  }

  @Override
  public void hostStops() {
    var _ = hosts.faults().stop("server");
  }

  @Override
  public void networkIsInterrupted() {
    var _ = hosts.faults().partition("client", "server");
  }

  @Override
  public void deviceIsRemoved() {
    hosts.network().removeDevice("client");
  }

  @Override
  public void close() {
    pair.close();
    hosts.close();
  }
}
