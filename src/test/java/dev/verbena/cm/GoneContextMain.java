package dev.verbena.cm;

import dev.verbena.testing.Await;
import dev.verbena.testing.Descriptors;
import dev.verbena.verbs.Context;
import java.util.List;

/** Has the context of a device that is taken away, and tells. Argument: the device's name. */
final class GoneContextMain {
  static final String READY = "ready";

  private GoneContextMain() {}

  public static void main(String[] args) throws Exception {
    Context context = find(args[0]);
    long before = Descriptors.ofRdma().size();
    System.out.println(READY);
    Await.until("the end of the device", () -> find(args[0]) == null);
    boolean released = Descriptors.ofRdma().size() < before;
    System.out.println(List.of("gone", released, context.isOpen()));
  }

  private static Context find(String device) {
    return Contexts.list().stream()
        .filter(context -> context.device().name().equals(device))
        .findAny()
        .orElse(null);
  }
}
