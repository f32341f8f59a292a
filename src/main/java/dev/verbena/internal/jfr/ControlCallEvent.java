package dev.verbena.internal.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Threshold;

/** A call of C outside the data path. */
@Name("dev.verbena.ControlCall")
@Label("Control Call")
@Category("RDMA")
@Description("A call of libibverbs or librdmacm outside the data path that took long")
@Threshold("10 ms")
final class ControlCallEvent extends Event {
  @Label("Function")
  String function;

  @Label("Failure")
  String failure;

  static ControlCallEvent begun() {
    ControlCallEvent event = new ControlCallEvent();
    if (!event.isEnabled()) {
      return null;
    }
    event.begin();
    return event;
  }

  void finish(String calledFunction, String reason) {
    end();
    if (shouldCommit()) {
      function = calledFunction;
      failure = reason;
      commit();
    }
  }
}
