package dev.verbena.tools.qualify;

import dev.verbena.VerbsException;
import dev.verbena.attributes.DeviceAttributes;
import dev.verbena.tools.qualify.Bench.DifferenceException;
import dev.verbena.tools.qualify.Outcome.Verdict;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Something that a device may be able to do, and how to try it.
 *
 * @param name its name in reports
 * @param announced whether the attributes of a device announce it; null if no attribute does
 * @param trial tries it
 */
record Capability(
    String name, Function<DeviceAttributes, @Nullable Boolean> announced, Trial trial) {
  /** Tries a capability; any exception is the result. */
  interface Trial {
    void run(Bench bench) throws Exception;
  }

  /** Returns a capability that no attribute announces. */
  static Capability of(String name, Trial trial) {
    return new Capability(name, _ -> null, trial);
  }

  /** Tries this capability in this thread; what goes wrong is the result. */
  Outcome tryOn(Device device) {
    Boolean known = null;
    try {
      known = isAnnounced(device);
      try (Bench bench = new Bench(device)) {
        trial.run(bench);
      }
      return new Outcome(name, known, Verdict.WORKS, "");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return new Outcome(name, known, Verdict.HUNG, "interrupted");
    } catch (Exception e) {
      return failed(known, e);
    }
  }

  private @Nullable Boolean isAnnounced(Device device) {
    try (Context context = device.open()) {
      return announced.apply(context.deviceAttributes());
    }
  }

  private Outcome failed(@Nullable Boolean known, Exception e) {
    boolean unsupported =
        e instanceof UnsupportedOperationException
            || (e instanceof VerbsException verbs && verbs.isUnsupported());
    String detail =
        e instanceof VerbsException verbs
            ? verbs.function() + ": errno " + verbs.errno()
            : e instanceof DifferenceException ? e.getMessage() : e.toString();
    return new Outcome(
        name,
        known,
        unsupported ? Verdict.UNSUPPORTED : Verdict.FAILS,
        detail.lines().findFirst().orElse(""));
  }
}
