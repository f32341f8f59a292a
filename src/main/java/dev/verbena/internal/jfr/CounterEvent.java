package dev.verbena.internal.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Period;
import jdk.jfr.StackTrace;
import jdk.jfr.Unsigned;

/** The value of a counter. */
@Name("dev.verbena.Counter")
@Label("Counter")
@Category("RDMA")
@Description("A counter of an exported device: StatisticsExport")
@Period("10 s")
@StackTrace(false)
final class CounterEvent extends Event {
  @Label("Device")
  String device;

  @Label("Counter")
  @Description("The path that the counter has, or would have, below the device in /sys")
  String counter;

  @Label("Value")
  @Unsigned
  long value;
}
