package dev.verbena.internal.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;

/** A state transition of a queue pair that this library requested. */
@Name("dev.verbena.QueuePairTransition")
@Label("Queue Pair Transition")
@Category("RDMA")
@Description("The state of a queue pair was modified: ibv_modify_qp")
final class QueuePairTransitionEvent extends Event {
  @Label("Device")
  String device;

  @Label("Queue Pair Number")
  int queuePair;

  @Label("Type")
  String type;

  @Label("From")
  @Description("The state that libibverbs stored at the previous transition")
  String from;

  @Label("To")
  String to;

  @Label("Failure")
  String failure;

  static QueuePairTransitionEvent begun() {
    QueuePairTransitionEvent event = new QueuePairTransitionEvent();
    if (!event.isEnabled()) {
      return null;
    }
    event.begin();
    return event;
  }

  void finish(
      String ofDevice, int number, String ofType, String before, String after, String reason) {
    end();
    if (shouldCommit()) {
      device = ofDevice;
      queuePair = number;
      type = ofType;
      from = before;
      to = after;
      failure = reason;
      commit();
    }
  }
}
