package dev.verbena.util;

import dev.verbena.attributes.Counter;
import dev.verbena.internal.foreign.AfterFailure;
import dev.verbena.internal.jfr.FlightEvents;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.life.ObjectText;
import dev.verbena.internal.management.CountersBean;
import dev.verbena.verbs.Context;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * An export of the {@linkplain Context#statistics counters} of a device, until it is closed:
 *
 * {@snippet :
 * try (Context context = Device.named("mlx5_0").open();
 *     StatisticsExport export = StatisticsExport.start(context)) {
 *   run();
 * }
 * }
 *
 * <ul>
 *   <li>by {@index JMX}, as the MBean {@code dev.verbena:type=Statistics,device=mlx5_0}, with an
 *       attribute of type {@code long} for each counter, if the Java runtime has the module {@code
 *       java.management};
 *   <li>as the event {@code dev.verbena.Counter} of JDK Flight Recorder, one of each counter in
 *       each period, if it has the module {@code jdk.jfr}.
 * </ul>
 *
 * <p>Counters have the names that they have, or would have, below the device in {@code /sys}:
 * {@code ports/1/hw_counters/out_of_sequence}, {@code hw_counters/sent_pkts} of a software device,
 * {@code messages/client_requests}. Values are read when the MBean or the event is: between two
 * reads the export costs nothing.
 *
 * <p>Closing the context closes it. Any thread may close it, and closing may be repeated.
 */
public final class StatisticsExport implements AutoCloseable {
  private static final boolean HAS_BEANS = hasBeans();

  private final Core core;
  private final String device;

  private StatisticsExport(Core core, String device) {
    this.core = core;
    this.device = device;
    core.owner(this);
  }

  private static boolean hasBeans() {
    try {
      Class.forName(
          "javax.management.DynamicMBean", false, StatisticsExport.class.getClassLoader());
      return true;
    } catch (ClassNotFoundException e) {
      return false;
    }
  }

  /**
   * Begins an export.
   *
   * @param context the context of the device
   * @return the export, to be closed
   * @throws IllegalStateException if the context is closed, or a device of this name is exported
   *     already
   * @throws UnsupportedOperationException if the Java runtime has neither module
   */
  public static StatisticsExport start(Context context) {
    String device = context.device().name();
    Runnable hook = () -> record(context);
    return Core.make(
        List.of(context),
        () -> {
          if (HAS_BEANS) { // First, since it fails if the device is exported.
            CountersBean.register(device, () -> counters(context));
          }
          boolean recorded;
          try {
            recorded = FlightEvents.addCounters(hook);
          } catch (Throwable t) {
            AfterFailure.close(t, () -> unregister(device));
            throw t;
          }
          if (!recorded && !HAS_BEANS) {
            throw new UnsupportedOperationException(
                "an export needs the module java.management or jdk.jfr, which this Java runtime"
                    + " lacks");
          }
          return 0;
        },
        _ ->
            AfterFailure.closeAll(
                () -> FlightEvents.removeCounters(hook), () -> unregister(device)),
        core -> new StatisticsExport(core, device));
  }

  private static void unregister(String device) {
    if (HAS_BEANS) {
      CountersBean.unregister(device);
    }
  }

  private static Map<String, Counter> counters(Context context) {
    Map<String, Counter> counters = new TreeMap<>();
    for (Counter counter : context.statistics().counters()) {
      String port = counter.port().isPresent() ? "ports/" + counter.port().getAsInt() + "/" : "";
      counters.put(port + counter.group() + "/" + counter.name(), counter);
    }
    return counters;
  }

  private static void record(Context context) {
    Map<String, Counter> counters;
    try {
      counters = counters(context);
    } catch (IllegalStateException e) { // The context is being closed, which ends the export.
      return;
    }
    counters.forEach(
        (name, counter) -> FlightEvents.counter(context.device().name(), name, counter.value()));
  }

  /** Ends the export. */
  @Override
  public void close() {
    core.close();
  }

  @Override
  public String toString() {
    return ObjectText.of(core, "export of the statistics of " + device);
  }
}
