package dev.verbena.internal.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A connection that has ended, or that could not be set up. */
@Name("dev.verbena.ConnectionEnded")
@Label("Connection Ended")
@Category("RDMA")
@Description("A connection of the RDMA CM has ended, or could not be set up")
@StackTrace(false)
final class ConnectionEndedEvent extends Event {
  @Label("Connection")
  String connection;

  @Label("Event")
  @Description("The event of the RDMA CM, without RDMA_CM_EVENT_")
  String event;

  @Label("Status")
  @Description("The status of the event: 0, a negative errno, or the reason of a rejection")
  int status;

  @Label("Reason")
  String reason;

  static void record(Object id, Object type, int status, String reason) {
    ConnectionEndedEvent ended = new ConnectionEndedEvent();
    if (ended.isEnabled()) {
      ended.connection = id.toString();
      ended.event = type.toString();
      ended.status = status;
      ended.reason = reason;
      ended.commit();
    }
  }
}
