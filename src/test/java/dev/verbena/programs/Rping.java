package dev.verbena.programs;

import static dev.verbena.tools.command.Failure.usage;

import dev.verbena.cm.Endpoint;
import dev.verbena.cm.Listener;
import dev.verbena.messages.Connection;
import dev.verbena.messages.ConnectionSettings;
import dev.verbena.tools.command.BothEnds;
import dev.verbena.tools.command.Cli;
import dev.verbena.tools.command.Patience;
import dev.verbena.tools.command.ProfileOption;
import dev.verbena.tools.command.UdpDevice;
import java.io.IOException;
import java.io.PrintWriter;
import java.lang.foreign.Arena;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** RDMA reads and writes over RDMA CM; the peer may be rdma-core's rping. */
@Command(
    name = "rping",
    header = "Pings by RDMA read and write over RDMA CM; the peer may be rdma-core's rping.",
    footerHeading = Cli.EXAMPLES,
    footer = {
      "  programs rping --both-ends -v",
      "  programs rping -s --device udp:127.0.0.2              # server",
      "  programs rping -c -C 10 -a 127.0.0.2 --device udp:127.0.0.1"
    })
final class Rping implements Callable<Integer> {
  /**
   * The minimum size in rping: its text with the largest number; the maximum is less than 64 KiB.
   */
  private static final int MIN_SIZE = 26;

  private static final int MAX_SIZE = 65535;

  /** The number of pings between two ends in this process, unless one is given. */
  private static final int PINGS = 10;

  @Spec private CommandSpec spec;

  @ArgGroup(multiplicity = "1")
  private Role role;

  /** The options for the role. */
  private static final class Role {
    @Option(names = "-s", required = true, description = "Server.")
    private boolean server;

    @Option(names = "-c", required = true, description = "Client.")
    private boolean client;

    @Option(names = BothEnds.OPTION, required = true, description = BothEnds.DESCRIPTION)
    private boolean both;
  }

  @Option(
      names = "-a",
      paramLabel = "ADDRESS",
      description =
          "Server: the address to listen on, by default all; client: the address to connect"
              + " to.")
  private InetAddress address;

  @Option(names = "-I", paramLabel = "ADDRESS", description = "Client: the source address.")
  private InetAddress source;

  @Option(names = "-p", paramLabel = "PORT", description = "Port; default: ${DEFAULT-VALUE}.")
  private int port = 7174;

  @Option(
      names = "-S",
      paramLabel = "BYTES",
      description = "Size of a ping, 26 to 65535; default: ${DEFAULT-VALUE}.")
  private int size = 64;

  @Option(
      names = "-C",
      paramLabel = "N",
      description =
          "Client: the number of pings; default: unlimited, with "
              + BothEnds.OPTION
              + " "
              + PINGS
              + ".")
  private int count;

  @Option(names = "-P", description = "Server: serve clients without end, also concurrently.")
  private boolean persistent;

  @Option(names = "-v", description = "Print received data.")
  private boolean show;

  @Option(names = "-V", description = "Client: compare the received data with the data sent.")
  private boolean validate;

  @Option(names = "-d", description = "Print the connection.")
  private boolean debug;

  @Mixin
  @SuppressWarnings("UnusedVariable") // Required by picocli.
  private UdpDevice device;

  @Mixin
  @SuppressWarnings("UnusedVariable") // Required by picocli.
  private ProfileOption profile;

  @Override
  public Integer call() throws Exception {
    if (role.both) {
      return runBothEnds();
    }
    if (size < MIN_SIZE || size > MAX_SIZE) {
      throw usage(
          spec, "Invalid size %d (valid range is %d to %d)".formatted(size, MIN_SIZE, MAX_SIZE));
    }
    if (count < 0) {
      throw usage(spec, "Invalid count " + count);
    }
    if (role.client && address == null) {
      throw usage(spec, "the client requires the server's address: -a");
    }
    if (role.client && persistent) {
      throw usage(spec, "-P is an option of the server");
    }
    if (role.server && source != null) {
      throw usage(spec, "-I is an option of the client; the server listens on -a");
    }
    if (role.server) {
      serve();
    } else {
      ping();
    }
    return 0;
  }

  private int runBothEnds() throws Exception {
    return BothEnds.run(
        spec,
        BothEnds.arguments(spec, "-s", "-a", BothEnds.SERVER_ADDRESS),
        count == 0
            ? BothEnds.arguments(
                spec, "-c", "-a", BothEnds.SERVER_ADDRESS, "-C", Integer.toString(PINGS))
            : BothEnds.arguments(spec, "-c", "-a", BothEnds.SERVER_ADDRESS));
  }

  /** A network may lose what establishes the connection; Linux repeats it after 5 s. */
  private ConnectionSettings settings() {
    ConnectionSettings settings =
        ConnectionSettings.DEFAULT
            .withMessageSize(RpingBuffer.SIZE)
            .withReceives(2)
            .withTimeout(Patience.WITH_PEER);
    return source == null ? settings : settings.withLocalAddress(new InetSocketAddress(source, 0));
  }

  private void ping() throws IOException, InterruptedException {
    try (Arena arena = Arena.ofShared();
        Connection server = Connection.connect(new InetSocketAddress(address, port), settings())) {
      debug(server);
      new RpingClient(server, arena, size).ping(count, validate, shown("ping data: "));
    }
  }

  private void serve() throws IOException, InterruptedException {
    InetSocketAddress here =
        address == null ? new InetSocketAddress(port) : new InetSocketAddress(address, port);
    try (Listener listener = Listener.open(here)) {
      BothEnds.serverIsReady();
      if (persistent) {
        serveAll(listener);
      } else {
        serve(listener.take());
      }
    }
  }

  private void serveAll(Listener listener) throws InterruptedException {
    try (ExecutorService sessions = Executors.newVirtualThreadPerTaskExecutor()) {
      while (true) {
        Endpoint request = listener.take();
        sessions.execute(() -> serveOneOfMany(request));
      }
    }
  }

  /** Serves one of several clients; its failure does not affect the others. */
  private void serveOneOfMany(Endpoint request) {
    try {
      serve(request);
    } catch (IOException | RuntimeException e) {
      err().println(Cli.message(e));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void serve(Endpoint request) throws IOException, InterruptedException {
    try (Arena arena = Arena.ofShared();
        Connection client = Connection.accept(request, settings())) {
      debug(client);
      new RpingServer(client, arena, size).pong(shown("server ping data: "));
      err().println("server DISCONNECT EVENT...");
    }
  }

  private Consumer<String> shown(String label) {
    PrintWriter out = spec.commandLine().getOut();
    return show ? text -> out.println(label + text) : text -> {};
  }

  private void debug(Connection connection) {
    if (debug) {
      err().println(connection + ", " + connection.endpoint().id().queuePair().orElseThrow());
    }
  }

  private PrintWriter err() {
    return spec.commandLine().getErr();
  }
}
