package dev.verbena.programs;

import static dev.verbena.tools.command.Failure.usage;

import dev.verbena.cm.Endpoint;
import dev.verbena.cm.Listener;
import dev.verbena.cm.PortSpace;
import dev.verbena.tools.command.BothEnds;
import dev.verbena.tools.command.Cli;
import dev.verbena.verbs.Completions;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The manual's example of a shared receive queue: several connections receive from it. */
@Command(
    name = "srq",
    header = "Shared receive queue: the example of the RDMA programming manual.",
    description = "Without -s: client. Both ends require the server's address.",
    footerHeading = Cli.EXAMPLES,
    footer = "  programs srq --both-ends")
final class Srq implements Callable<Integer> {
  private static final Duration RESOLUTION = Duration.ofSeconds(2);

  @Spec private CommandSpec spec;

  @Mixin private ManualOptions options;

  @Option(
      names = "-l",
      paramLabel = "BYTES",
      description = "Length of a message; default: ${DEFAULT-VALUE}.")
  private int length = 100000;

  @Option(names = "-q", paramLabel = "N", description = "Connections; default: ${DEFAULT-VALUE}.")
  private int connections = 4;

  @Option(
      names = "-w",
      paramLabel = "N",
      description = "Receive requests in the shared queue, and messages per batch; default: 64.")
  private int depth = 64;

  private PrintWriter out;

  @Override
  public Integer call() throws Exception {
    if (options.bothEnds()) {
      return options.runBothEnds();
    }
    out = spec.commandLine().getOut();
    if (options.address() == null) {
      throw usage(spec, "server address required (use -a)!");
    }
    if (options.count() < 1 || length < 1 || connections < 1 || depth < 1) {
      throw usage(spec, "-c, -l, -q and -w must be 1 or more");
    }
    if (options.isServer()) {
      serve();
    } else {
      visit();
    }
    return 0;
  }

  /** Receives messages of all connections, and answers each batch over the first one. */
  private void serve() throws InterruptedException {
    try (Listener listener = Listener.open(PortSpace.TCP, options.listening(), connections)) {
      BothEnds.serverIsReady();
      out.println("waiting for connection from client...");
      try (Endpoint first = listener.take();
          SharedReceives end = new SharedReceives(first.id().context(), depth, length)) {
        end.accept(first);
        for (int i = 1; i < connections; i++) {
          end.accept(listener.take());
        }
        answerBatches(end);
      }
    }
  }

  private void answerBatches(SharedReceives end) throws InterruptedException {
    int received = 0;
    for (int answers = 0; received < options.count(); ) {
      int batchEnd = Math.min(received + depth, options.count());
      while (received < batchEnd) {
        Completions messages = end.take();
        for (int i = 0; i < messages.count(); i++) {
          end.postReceive();
          received++;
          out.println("recv count: " + received + ", qp_num: " + messages.queuePairNumber(i));
        }
      }
      end.send(0);
      answers++;
      out.println("send count: " + answers);
    }
  }

  /** Sends over one connection after the other, and waits for an answer after each batch. */
  private void visit() throws InterruptedException {
    InetSocketAddress peer = new InetSocketAddress(options.address(), options.port());
    try (Endpoint first = Endpoint.resolve(PortSpace.TCP, null, peer, RESOLUTION);
        SharedReceives end = new SharedReceives(first.id().context(), depth, length)) {
      end.connect(first);
      for (int i = 1; i < connections; i++) {
        end.connect(Endpoint.resolve(PortSpace.TCP, null, peer, RESOLUTION));
      }
      sendBatches(end);
    }
  }

  private void sendBatches(SharedReceives end) throws InterruptedException {
    int answers = 0;
    for (int sent = 0; sent < options.count(); ) {
      for (int i = 0; i < depth && sent < options.count(); i++) {
        int number = end.send(i % connections).number();
        sent++;
        out.println("send count: " + sent + ", qp_num: " + number);
      }
      Completions messages = end.take();
      for (int i = 0; i < messages.count(); i++) {
        end.postReceive();
        answers++;
        out.println("recv count: " + answers);
      }
    }
  }
}
