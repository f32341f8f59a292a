package dev.verbena.sockets;

import dev.verbena.internal.jfr.FlightEvents;
import java.io.IOException;
import java.net.SocketAddress;
import java.nio.channels.Channel;
import org.jspecify.annotations.Nullable;

/** Reports which transport a channel uses: to the log, at DEBUG, and to Flight Recorder. */
final class TransportLog {
  private static final System.Logger LOG = System.getLogger("dev.verbena.sockets");

  private TransportLog() {}

  /**
   * Reports the transport of a channel.
   *
   * @param channel what it is
   * @param address the address of the peer, or the local one of a listener
   * @param transport the transport
   * @param rule the rule that decided
   * @param failure why RDMA, which the rule permits, is not used; null if it is, or is not
   *     permitted
   */
  static void report(
      String channel,
      SocketAddress address,
      String transport,
      Rule rule,
      @Nullable Exception failure) {
    String reason = rule.text() + (failure == null ? "" : "; " + failure.getMessage());
    LOG.log(
        System.Logger.Level.DEBUG,
        () -> channel + " " + address + ": " + transport + " (" + reason + ")");
    FlightEvents.transport(channel, address, transport, reason);
  }

  /**
   * Closes the channel of the transport that is not used. A failure is logged: the channel that is
   * used works without it.
   */
  static void closeUnused(Channel unused) {
    try {
      unused.close();
    } catch (IOException e) {
      LOG.log(System.Logger.Level.WARNING, "a channel that is not used cannot be closed", e);
    }
  }
}
