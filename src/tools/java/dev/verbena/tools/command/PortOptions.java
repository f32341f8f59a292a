package dev.verbena.tools.command;

import dev.verbena.verbs.Device;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import picocli.CommandLine.Spec.Target;

/** The options for device and port, the same for all programs. */
public class PortOptions {
  public static final int UNSET = -1;

  @Spec(Target.MIXEE)
  private CommandSpec command;

  @Option(
      names = {"-d", "--ib-dev", UdpDevice.OPTION},
      paramLabel = "DEVICE",
      description = "Device, or udp:ADDRESS; default: the first one.")
  private String name;

  private int port = UNSET;

  @Option(
      names = {"-i", "--ib-port"},
      paramLabel = "N",
      description = "Port of the device; default: 1.")
  public void port(int port) {
    this.port = notNegative(port, "the device's port");
  }

  public final int notNegative(int number, String what) {
    if (number < 0) {
      throw Failure.usage(command, what + " cannot be " + number);
    }
    return number;
  }

  /** Returns the name of the device; null if it was not given. */
  public final String name() {
    return name;
  }

  public final int port() {
    return port == UNSET ? 1 : port;
  }

  /** Returns whether any of the options was given to choose among the devices there are. */
  public boolean isGiven() {
    return (name != null && !UdpDevice.isDescribedBy(name)) || port != UNSET;
  }

  public Device device() {
    return HostDevices.orFirst(name);
  }
}
