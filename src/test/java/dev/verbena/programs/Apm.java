package dev.verbena.programs;

import static dev.verbena.tools.command.Failure.usage;

import dev.verbena.cm.Contexts;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.Listener;
import dev.verbena.cm.PortSpace;
import dev.verbena.tools.command.BothEnds;
import dev.verbena.tools.command.Cli;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * The manual's example of automatic path migration: a connection migrates to another port, on
 * request or because the link of the port goes down.
 *
 * <p>Requires an InfiniBand adapter with two ports on the same subnet at one end, or devices with
 * two ports at both ends.
 */
@Command(
    name = "apm",
    header = "Automatic path migration: the example of the RDMA programming manual.",
    description = "Without -s: client. -a is optional for the server.",
    footerHeading = Cli.EXAMPLES,
    footer = "  programs apm --both-ends -c 20 -m 1")
final class Apm implements Callable<Integer> {
  private static final Duration RESOLUTION = Duration.ofSeconds(2);
  private static final int PAUSE = 500;

  /** Nobody watches the messages one by one: a hundred take two seconds. */
  private static final String BOTH_ENDS_PAUSE = "10";

  @Spec private CommandSpec spec;

  @Mixin private ManualOptions options;

  @Option(
      names = "-l",
      paramLabel = "BYTES",
      description = "Length of a message; default: ${DEFAULT-VALUE}.")
  private int length = 1000000;

  @Option(
      names = "-d",
      paramLabel = "LID",
      description = "LID of the peer's alternate port; default: sent by the peer.")
  private int alternateLid;

  @Option(
      names = "-r",
      paramLabel = "PORT",
      description = "Local alternate port, with -d; default: another active one.")
  private int alternatePort;

  @Option(
      names = "-m",
      paramLabel = "N",
      description = "Number of messages after which the client migrates; default: never.")
  private int migrateAfter = -1;

  @Option(
      names = "-w",
      paramLabel = "MS",
      description = "Time between sends, the same at both ends; default: 500, with --both-ends 10.")
  private Integer pauseMillis;

  private int pause;

  private PrintWriter out;

  @Override
  public Integer call() throws Exception {
    if (options.bothEnds()) {
      return pauseMillis == null
          ? options.runBothEnds("-w", BOTH_ENDS_PAUSE)
          : options.runBothEnds();
    }
    pause = pauseMillis == null ? PAUSE : pauseMillis;
    out = spec.commandLine().getOut();
    if (!options.isServer() && options.address() == null) {
      throw usage(spec, "server address must be specified for client mode");
    }
    if ((alternateLid == 0) != (alternatePort == 0)) {
      throw usage(spec, "-d and -r must be used together");
    }
    if (migrateAfter > options.count()) {
      throw usage(spec, "num_iterations_then_migrate must be less than msg_count");
    }
    if (options.count() < 1 || length < 1 || pause < 0) {
      throw usage(spec, "-c and -l must be 1 or more, -w 0 or more");
    }
    printConfiguration();
    if (options.isServer()) {
      serve();
    } else {
      visit();
    }
    return 0;
  }

  private void printConfiguration() {
    out.println("mode: " + (options.isServer() ? "server" : "client"));
    InetAddress address = options.address();
    out.println("address: " + (address == null ? "NULL" : address.getHostAddress()));
    out.println("port: " + options.port());
    out.println("count: " + options.count());
    out.println("length: " + length);
    out.println("alt_dlid: " + alternateLid);
    out.println("alt_port: " + alternatePort);
    out.println("mig_after: " + migrateAfter);
    out.println("msec_wait: " + pause);
    out.println();
    out.println("rdma_getaddrinfo");
    out.println("rdma_create_ep");
  }

  /** Answers each message after the pause. */
  private void serve() throws InterruptedException {
    // Without path migration the client exits, too.
    AlternatePort.requireAny(Contexts.list());
    out.println("rdma_listen");
    try (Listener listener = Listener.open(options.listening())) {
      BothEnds.serverIsReady();
      out.println("rdma_get_request");
      try (Endpoint request = listener.take();
          MigratingConnection client = new MigratingConnection(request, length, pause, out)) {
        AlternatePort own = ownPort(client);
        out.println("rdma_accept");
        load(own, client, client.accept(own.address().privateData()));
        for (int i = 0; i < options.count(); i++) {
          receive(client, i);
          Thread.sleep(pause);
          send(client, i);
        }
      }
    }
  }

  private void visit() throws InterruptedException {
    InetSocketAddress peer = new InetSocketAddress(options.address(), options.port());
    try (Endpoint way = Endpoint.resolve(PortSpace.TCP, null, peer, RESOLUTION);
        MigratingConnection server = new MigratingConnection(way, length, pause, out)) {
      AlternatePort own = ownPort(server);
      out.println("rdma_connect");
      load(own, server, server.connect(own.address().privateData()));
      for (int i = 0; i < options.count(); i++) {
        if (i == migrateAfter) {
          AlternatePort.migrate(server.queuePair());
        }
        Thread.sleep(pause);
        send(server, i);
        receive(server, i);
      }
    }
  }

  private AlternatePort ownPort(MigratingConnection connection) {
    return alternatePort == 0 ? connection.alternatePort() : AlternatePort.ofNumber(alternatePort);
  }

  /**
   * Loads the alternate path, unless this end has no other port and that of the peer is unknown.
   */
  private void load(AlternatePort own, MigratingConnection connection, byte[] privateData) {
    AlternateAddress remote =
        alternateLid == 0 ? AlternateAddress.of(privateData) : AlternateAddress.ofLid(alternateLid);
    if (own.number() == 0 && remote.isNone()) {
      return;
    }
    AlternatePort port = own.number() == 0 ? connection.currentPort() : own;
    out.println("loading alt path - local port: " + port.number() + ", " + remote);
    port.load(connection.queuePair(), remote);
  }

  private void send(MigratingConnection connection, int number) throws InterruptedException {
    connection.send();
    out.println("send: " + number);
  }

  private void receive(MigratingConnection connection, int number) throws InterruptedException {
    connection.receive();
    out.println("recv: " + number);
  }
}
