package dev.verbena.tools;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import picocli.CommandLine.Option;

/** Which end of a multicast group a program is. */
final class GroupOptions {
  @Option(names = "-s", description = "Send.")
  private boolean sender;

  @Option(
      names = "-b",
      paramLabel = "ADDRESS",
      description = "Address to bind to, which chooses the device.")
  private InetAddress source;

  @Option(
      names = "-t",
      paramLabel = "SECONDS",
      description = "Give up if no message comes in that time; default: never.")
  private long patience = Long.MAX_VALUE;

  boolean isSender() {
    return sender;
  }

  /** The address to bind to, with a port; null if none was given. */
  InetSocketAddress from(int port) {
    return source == null ? null : new InetSocketAddress(source, port);
  }

  long patience() {
    return patience;
  }
}
