package dev.verbena.internal;

import java.lang.foreign.MemorySegment;

/** Whether the JVM lets this module call C. */
public final class NativeAccess {
  private NativeAccess() {}

  /**
   * Makes a restricted call that does nothing, since {@link Module#isNativeAccessEnabled} is false
   * as well where the JVM would only warn.
   *
   * @throws IllegalCallerException saying with which flag the JVM must be started
   */
  public static void require() {
    try {
      MemorySegment.NULL.reinterpret(0);
    } catch (IllegalCallerException e) {
      throw new IllegalCallerException(
          "the JVM denies native access: start it with " + flag(NativeAccess.class.getModule()), e);
    }
  }

  /** The option that grants native access to a module, or to the class path. */
  static String flag(Module module) {
    return "--enable-native-access=" + (module.isNamed() ? module.getName() : "ALL-UNNAMED");
  }
}
