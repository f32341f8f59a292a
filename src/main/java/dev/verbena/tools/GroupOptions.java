package dev.verbena.tools;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import picocli.CommandLine.Option;

/** The options for the role in a multicast group. */
final class GroupOptions {
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
