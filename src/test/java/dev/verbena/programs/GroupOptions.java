package dev.verbena.programs;

import dev.verbena.tools.command.BothEnds;
import dev.verbena.tools.command.UdpDevice;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import picocli.CommandLine.Spec.Target;

/** The options for the role in a multicast group. */
final class GroupOptions {
  @Spec(Target.MIXEE)
  private CommandSpec command;

  @Mixin private BothEnds bothEnds;

  @Mixin
  @SuppressWarnings("UnusedVariable") // Required by picocli.
  private UdpDevice device;

  @Option(names = "-s", description = "Send.")
  private boolean sender;

  @Option(
      names = "-b",
      paramLabel = "ADDRESS",
      description = "Address to bind to; determines the device.")
  private InetAddress source;

  @Option(
      names = "-t",
      paramLabel = "SECONDS",
      description = "Fail if no message arrives within this time; default: unlimited.")
  private long patience = Long.MAX_VALUE;

  boolean bothEnds() {
    return bothEnds.wanted();
  }

  /** Runs both ends; the receiver is the server. */
  int runBothEnds() throws Exception {
    return BothEnds.run(
        command,
        BothEnds.arguments(command, "-b", BothEnds.SERVER_ADDRESS),
        BothEnds.arguments(command, "-s", "-b", BothEnds.CLIENT_ADDRESS));
  }

  boolean isSender() {
    return sender;
  }

  /** Returns the address to bind to, with a port; null if none was given. */
  InetSocketAddress from(int port) {
    return source == null ? null : new InetSocketAddress(source, port);
  }

  long patience() {
    return patience;
  }
}
