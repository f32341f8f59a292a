package dev.verbena.programs;

import static dev.verbena.tools.command.Failure.usage;

import dev.verbena.sockets.RdmaSelectorProvider;
import dev.verbena.tools.command.Cli;
import dev.verbena.tools.command.UdpDevice;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Copies a file over rsockets; the peer may be rdma-core's rcopy. */
@Command(
    name = "rcopy",
    header = "Copies a file over rsockets; the peer may be rdma-core's rcopy.",
    description =
        "Without parameters it is the server, which writes each file that a client sends, under the"
            + " name that the client chooses.",
    footerHeading = Cli.EXAMPLES,
    footer = {
      "  programs rcopy --device udp:127.0.0.2 -b 127.0.0.2    # server",
      "  programs rcopy --device udp:127.0.0.1 FILE 127.0.0.2:COPY"
    })
final class Rcopy implements Callable<Integer> {
  @Spec private CommandSpec spec;

  @Mixin
  @SuppressWarnings("UnusedVariable") // Required by picocli.
  private UdpDevice device;

  @Parameters(index = "0", arity = "0..1", paramLabel = "SOURCE", description = "The file.")
  private Path source;

  @Parameters(
      index = "1",
      arity = "0..1",
      paramLabel = "SERVER[:DESTINATION]",
      description = "The server, and the name of the file there if it is another one.")
  private String destination;

  @Option(names = "-b", paramLabel = "ADDRESS", description = "The local address.")
  private InetAddress local;

  @Option(names = "-p", paramLabel = "PORT", description = "Port; default: ${DEFAULT-VALUE}.")
  private int port = 7427;

  @Override
  public Integer call() throws IOException {
    PrintWriter out = spec.commandLine().getOut();
    if (source == null) {
      serve(out);
    } else if (destination == null) {
      throw usage(spec, "Missing the server");
    } else {
      int colon = destination.indexOf(':');
      String server = colon < 0 ? destination : destination.substring(0, colon);
      String name = colon < 0 ? source.toString() : destination.substring(colon + 1);
      try (SocketChannel channel = RdmaSelectorProvider.provider().openSocketChannel()) {
        if (local != null) {
          channel.bind(new InetSocketAddress(local, 0));
        }
        channel.connect(new InetSocketAddress(InetAddress.getByName(server), port));
        new RcopyClient(channel, out).send(source, name);
      }
    }
    return 0;
  }

  private void serve(PrintWriter out) throws IOException {
    InetAddress address = local == null ? new InetSocketAddress(0).getAddress() : local;
    try (ServerSocketChannel listener = RdmaSelectorProvider.provider().openServerSocketChannel()) {
      listener.bind(new InetSocketAddress(address, port));
      while (true) {
        out.print("waiting for connection...");
        out.flush();
        serve(listener.accept(), out);
      }
    }
  }

  /** Serves a client, whose failure does not end the server. */
  private static void serve(SocketChannel client, PrintWriter out) {
    try (client;
        RcopyServer server = new RcopyServer(client, out)) {
      out.println("client: " + client.getRemoteAddress());
      server.serve();
    } catch (IOException e) {
      out.println("failed: " + e.getMessage());
    }
  }
}
