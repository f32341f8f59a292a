package dev.verbena.internal.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** An asynchronous event of a device. */
@Name("dev.verbena.AsynchronousEvent")
@Label("Asynchronous Event")
@Category("RDMA")
@Description("An asynchronous event of a device was read: ibv_get_async_event")
@StackTrace(false)
final class AsynchronousEvent extends Event {
  @Label("Device")
  String device;

  @Label("Type")
  String type;

  @Label("Object")
  @Description("What the event concerns")
  String object;

  static void record(Object device, Object type, Object object) {
    AsynchronousEvent event = new AsynchronousEvent();
    if (event.isEnabled()) {
      event.device = device.toString();
      event.type = type.toString();
      event.object = object.toString();
      event.commit();
    }
  }
}
