package dev.verbena.tools;

import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import picocli.CommandLine.Spec.Target;

/** Which device and port to use: the same options for all programs. */
class PortOptions {
  static final int UNSET = -1;

  @Spec(Target.MIXEE)
  private CommandSpec command;

  @Option(
      names = {"-d", "--ib-dev"},
      paramLabel = "DEVICE",
      description = "Device; default: the first one.")
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

  /** The device's name as it was given; null if it was not. */
  final String name() {
    return name;
  }

  final int port() {
    return port == UNSET ? 1 : port;
  }

  /** Whether any of the options was given. */
  boolean isGiven() {
    return name != null || port != UNSET;
  }

  Device device() {
    return Devices.orFirst(name);
  }

  final Context open() {
    return device().open();
  }
}
