package dev.verbena.internal.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Threshold;

/** A thread that waited for an event of a channel. */
@Name("dev.verbena.ChannelWait")
@Label("Channel Wait")
@Category("RDMA")
@Description("A thread waited for a completion event, a connection event or an asynchronous event")
@Threshold("20 ms")
final class ChannelWaitEvent extends Event {
  @Label("Channel")
  String channel;

  @Label("Found")
  @Description("Whether the wait ended with an event; otherwise a timeout, an interrupt or a close")
  boolean found;

  static ChannelWaitEvent begun() {
    ChannelWaitEvent event = new ChannelWaitEvent();
    if (!event.isEnabled()) {
      return null;
    }
    event.begin();
    return event;
  }

  void finish(String waitedOn, boolean withEvent) {
    end();
    if (shouldCommit()) {
      channel = waitedOn;
      found = withEvent;
      commit();
    }
  }
}
