package dev.verbena.tools.command;

import dev.verbena.verbs.Device;
import picocli.CommandLine.Option;

/** The options for the devices of a program that connects two queue pairs of its own. */
public final class PairOptions {
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

  public boolean isNamed() {
    return name != null || peerName != null;
  }

  public Device device() {
    return HostDevices.orFirst(name);
  }

  public Device peerDevice() {
    return peerName == null ? device() : Device.named(peerName);
  }
}
