package dev.verbena.internal.jfr;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;

/** The registration of memory. */
@Name("dev.verbena.MemoryRegistration")
@Label("Memory Registration")
@Category("RDMA")
@Description("Memory was registered with a protection domain: ibv_reg_mr")
final class MemoryRegistrationEvent extends Event {
  @Label("Device")
  String device;

  @Label("Length")
  @DataAmount
  long length;

  @Label("Access Flags")
  String access;

  @Label("Failure")
  String failure;

  static MemoryRegistrationEvent begun() {
    MemoryRegistrationEvent event = new MemoryRegistrationEvent();
    if (!event.isEnabled()) {
      return null;
    }
    event.begin();
    return event;
  }

  void finish(String ofDevice, long bytes, String flags, String reason) {
    end();
    if (shouldCommit()) {
      device = ofDevice;
      length = bytes;
      access = flags;
      failure = reason;
      commit();
    }
  }
}
