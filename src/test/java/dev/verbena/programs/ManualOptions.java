package dev.verbena.programs;

import dev.verbena.tools.command.BothEnds;
import dev.verbena.tools.command.UdpDevice;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import picocli.CommandLine.Spec.Target;

/** The common options of the manual's examples of connections. */
final class ManualOptions {
  @Spec(Target.MIXEE)
  private CommandSpec command;

  @Mixin private BothEnds bothEnds;

  @Mixin
  @SuppressWarnings("UnusedVariable") // Required by picocli.
  private UdpDevice device;

  @Option(names = "-s", description = "Server.")
  private boolean server;

  @Option(names = "-a", paramLabel = "ADDRESS", description = "The server's address.")
  private InetAddress address;

  @Option(names = "-p", paramLabel = "PORT", description = "Port; default: ${DEFAULT-VALUE}.")
  private int port = 51216;

  @Option(names = "-c", paramLabel = "N", description = "Messages; default: ${DEFAULT-VALUE}.")
  private int count = 100;

  boolean bothEnds() {
    return bothEnds.wanted();
  }

  /** Runs both ends, with further arguments. */
  int runBothEnds(String... more) throws Exception {
    List<String> client = BothEnds.arguments(command, "-a", BothEnds.SERVER_ADDRESS);
    client.addAll(List.of(more));
    List<String> server = new ArrayList<>(client);
    server.add("-s");
    return BothEnds.run(command, server, client);
  }

  boolean isServer() {
    return server;
  }

  /** Returns the server's address; null if none was given. */
  InetAddress address() {
    return address;
  }

  int port() {
    return port;
  }

  int count() {
    return count;
  }

  /** Returns the address to listen on: the wildcard address if none was given. */
  InetSocketAddress listening() {
    return address == null ? new InetSocketAddress(port) : new InetSocketAddress(address, port);
  }
}
