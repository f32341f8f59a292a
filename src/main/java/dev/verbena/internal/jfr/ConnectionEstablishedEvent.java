package dev.verbena.internal.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A connection that is set up. */
@Name("dev.verbena.ConnectionEstablished")
@Label("Connection Established")
@Category("RDMA")
@Description("A connection of the RDMA CM is set up")
@StackTrace(false)
final class ConnectionEstablishedEvent extends Event {
  @Label("Connection")
  String connection;

  @Label("Queue Pair")
  String queuePair;

  static void record(Object id, Object queuePair) {
    ConnectionEstablishedEvent event = new ConnectionEstablishedEvent();
    if (event.isEnabled()) {
      event.connection = id.toString();
      event.queuePair = queuePair == null ? null : queuePair.toString();
      event.commit();
    }
  }
}
