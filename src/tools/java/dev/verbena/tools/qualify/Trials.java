package dev.verbena.tools.qualify;

import dev.verbena.VerbsException;
import dev.verbena.tools.qualify.Bench.DifferenceException;
import dev.verbena.tools.qualify.Outcome.Verdict;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import org.jspecify.annotations.Nullable;

/** Tries capabilities of a device, in this thread. */
final class Trials {
  private Trials() {}

  /** Tries a capability; what goes wrong is the result. */
  static Outcome run(Device device, Capability capability) {
    Boolean announced = null;
    try {
      announced = announced(device, capability);
      try (Bench bench = new Bench(device)) {
        capability.trial().run(bench);
      }
      return new Outcome(capability.name(), announced, Verdict.WORKS, "");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return new Outcome(capability.name(), announced, Verdict.HUNG, "interrupted");
    } catch (Exception e) {
      return failed(capability, announced, e);
    }
  }

  private static @Nullable Boolean announced(Device device, Capability capability) {
    try (Context context = device.open()) {
      return capability.announced().apply(context.deviceAttributes());
    }
  }

  private static Outcome failed(Capability capability, @Nullable Boolean announced, Exception e) {
    boolean unsupported =
        e instanceof UnsupportedOperationException
            || (e instanceof VerbsException verbs && verbs.isUnsupported());
    String detail =
        e instanceof VerbsException verbs
            ? verbs.function() + ": errno " + verbs.errno()
            : e instanceof DifferenceException ? e.getMessage() : e.toString();
    return new Outcome(
        capability.name(),
        announced,
        unsupported ? Verdict.UNSUPPORTED : Verdict.FAILS,
        detail.lines().findFirst().orElse(""));
  }
}
