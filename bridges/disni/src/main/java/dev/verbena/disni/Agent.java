package dev.verbena.disni;

/**
 * The agent of {@code -javaagent:verbena-disni.jar}: makes an unchanged program use Verbena,
 * whatever the order of its class path is.
 */
public final class Agent {
  private Agent() {}

  /**
   * Called by the JVM before the program's main method.
   *
   * @param arguments the arguments of the agent, of which there are none
   */
  public static void premain(String arguments) {
    ReplacedClasses.install();
  }
}
