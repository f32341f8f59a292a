package dev.verbena.cm;

import dev.verbena.VerbsException;
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
    while (find(args[0]) != null) {
      Thread.sleep(50);
    }
    boolean held = Descriptors.ofRdma().size() == before;
    System.out.println(List.of("gone", held, answerOf(context)));
  }

  private static Context find(String device) {
    return Contexts.list().stream()
        .filter(context -> context.device().name().equals(device))
        .findAny()
        .orElse(null);
  }

  private static String answerOf(Context context) {
    try {
      context.deviceAttributes();
      return "answers";
    } catch (VerbsException e) {
      return "refuses";
    }
  }
}
