package dev.verbena.internal.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** The transport that a channel of the provider for a whole JVM uses. */
@Name("dev.verbena.SocketTransport")
@Label("Socket Transport")
@Category("RDMA")
@Description("A socket channel or a listener of HybridSelectorProvider uses RDMA or TCP")
@StackTrace(false)
final class SocketTransportEvent extends Event {
  @Label("Channel")
  String channel;

  @Label("Address")
  @Description("The address of the peer, or the local one of a listener")
  String address;

  @Label("Transport")
  String transport;

  @Label("Reason")
  @Description("The rule, and why RDMA was not used if the rule permits it")
  String reason;

  static void record(String channel, Object address, String transport, String reason) {
    SocketTransportEvent event = new SocketTransportEvent();
    if (event.isEnabled()) {
      event.channel = channel;
      event.address = address.toString();
      event.transport = transport;
      event.reason = reason;
      event.commit();
    }
  }
}
