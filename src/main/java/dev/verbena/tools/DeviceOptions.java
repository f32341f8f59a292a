package dev.verbena.tools;

import dev.verbena.verbs.BringUp;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.QueuePair;
import java.util.List;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.Spec.Target;

/** Which device, port and GID to use: the same options for all programs. */
final class DeviceOptions {
  @Spec(Target.MIXEE)
  private CommandSpec command;

  @Option(
      names = {"-d", "--ib-dev"},
      paramLabel = "DEVICE",
      description = "Device; default: the first one.")
  private String name;

  private int port = 1;

  private int gidIndex = -1;

  @Option(
      names = {"-i", "--ib-port"},
      paramLabel = "N",
      description = "Port of the device; default: 1.")
  void port(int port) {
    this.port = notNegative(port, "the device's port");
  }

  @Option(
      names = {"-g", "--gid-idx"},
      paramLabel = "INDEX",
      description = "GID to use; default: the best one.")
  void gidIndex(int index) {
    this.gidIndex = notNegative(index, "a GID index");
  }

  private int notNegative(int number, String what) {
    if (number < 0) {
      throw new ParameterException(command.commandLine(), what + " cannot be " + number);
    }
    return number;
  }

  /** The device's name as it was given; null if it was not. */
  String name() {
    return name;
  }

  int port() {
    return port;
  }

  boolean hasGidIndex() {
    return gidIndex >= 0;
  }

  int gidIndex() {
    return gidIndex;
  }

  Device device() {
    if (name != null) {
      return Device.named(name);
    }
    List<Device> devices = Device.list();
    if (devices.isEmpty()) {
      throw new UnsupportedOperationException("no RDMA device; verbena doctor tells more");
    }
    return devices.getFirst();
  }

  Context open() {
    return device().open();
  }

  /** Sets port and GID of a queue pair. */
  BringUp apply(QueuePair queuePair) {
    BringUp bringUp = queuePair.bringUp().port(port);
    return hasGidIndex() ? bringUp.gid(gidIndex) : bringUp;
  }
}
