package app;

import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.Verbena;

/** Calls a verb of the first device. */
public final class Main {
  private Main() {}

  public static void main(String[] arguments) {
    try (Context context = Device.list().getFirst().open();
        ProtectionDomain domain = context.allocateProtectionDomain()) {
      System.out.println(Verbena.version() + ": " + domain.context().device());
    }
  }
}
