package dev.verbena.tools;

import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import picocli.CommandLine.Spec.Target;

/** The options for device and port, the same for all programs. */
class PortOptions {
  static final int UNSET = -1;

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
  void port(int port) {
    this.port = notNegative(port, "the device's port");
  }

  final int notNegative(int number, String what) {
    if (number < 0) {
      throw Failure.usage(command, what + " cannot be " + number);
    }
    return number;
  }

  /** Returns the name of the device; null if it was not given. */
  final String name() {
    return name;
  }

  final int port() {
    return port == UNSET ? 1 : port;
  }

  /** Returns whether any of the options was given to choose among the devices there are. */
  boolean isGiven() {
    return (name != null && !UdpDevice.isDescribedBy(name)) || port != UNSET;
  }

  Device device() {
    return Devices.orFirst(name);
  }

  final Context open() {
    return device().open();
  }
}
