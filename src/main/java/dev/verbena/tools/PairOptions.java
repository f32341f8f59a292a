package dev.verbena.tools;

import dev.verbena.verbs.Device;
import picocli.CommandLine.Option;

/** The options for the devices of a program that connects two queue pairs of its own. */
final class PairOptions {
  @Option(
      names = {"-d", "--ib-dev", UdpDevice.OPTION},
      paramLabel = "DEVICE",
      description = "Device of one end, or udp:ADDRESS; default: the first one.")
  private String name;

  @Option(
      names = "--peer-dev",
      paramLabel = "DEVICE",
      description = "Device of the other end; default: the same.")
  private String peerName;

  boolean isNamed() {
    return name != null;
  }

  Device device() {
    return Devices.orFirst(name);
  }

  Device peerDevice() {
    return peerName == null ? device() : Device.named(peerName);
  }
}
