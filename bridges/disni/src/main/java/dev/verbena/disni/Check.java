package dev.verbena.disni;

import dev.verbena.verbs.Verbena;
import java.io.IOException;

/**
 * Tells whether DiSNI's programs would use Verbena on this class path, or what is wrong with it.
 */
public final class Check {
  private Check() {}

  /**
   * Prints the result; exits with status 1 if DiSNI would not run on Verbena.
   *
   * @param arguments none
   */
  public static void main(String[] arguments) {
    try {
      ReplacedClasses.check();
    } catch (IOException e) {
      System.err.println(e.getMessage());
      System.exit(1);
    }
    System.out.println("DiSNI runs on Verbena " + Verbena.version());
    Verbena.unsupportedReason()
        .ifPresent(reason -> System.out.println("without a device: " + reason));
  }
}
