package dev.verbena.internal.foreign;

import java.lang.foreign.MemorySegment;

/** Checks that native access is enabled for this module. */
public final class NativeAccess {
  private NativeAccess() {}

  /**
   * Makes a restricted call without effect: {@link Module#isNativeAccessEnabled} also returns false
   * where the JVM would only print a warning.
   *
   * @throws IllegalCallerException with the required option of the JVM
   */
  public static void require() {
    try {
      MemorySegment.NULL.reinterpret(0);
    } catch (IllegalCallerException e) {
      throw new IllegalCallerException(
          "the JVM denies native access: start it with " + flag(NativeAccess.class.getModule()), e);
    }
  }

  /** Returns the option that enables native access for a module, or for the class path. */
  static String flag(Module module) {
    return "--enable-native-access=" + (module.isNamed() ? module.getName() : "ALL-UNNAMED");
  }
}
