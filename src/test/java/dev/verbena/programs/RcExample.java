package dev.verbena.programs;

import static dev.verbena.programs.Steps.attempt;

import dev.verbena.VerbsException;
import dev.verbena.tools.command.BothEnds;
import dev.verbena.tools.command.Cli;
import dev.verbena.tools.command.DeviceOptions;
import dev.verbena.tools.command.Failure;
import dev.verbena.tools.command.Patience;
import dev.verbena.tools.command.Peer;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.AckTimeout;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.RnrTimer;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.GidChoice;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.io.IOException;
import java.io.PrintWriter;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.ConnectException;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * The manual's first example: a message from server to client, then the client reads the server's
 * memory and writes to it.
 *
 * <p>The peer may be the C program {@code RDMA_RC_example}.
 */
@Command(
    name = "rc-example",
    header = "Send, RDMA read and RDMA write between two hosts: the manual's RDMA_RC_example.",
    description = "Without HOST: start a server and wait for connection.",
    exitCodeOnInvalidInput = Cli.FAILED,
    exitCodeList = {" 0:done", " 1:failure, also for wrong usage or a missing device"},
    footerHeading = Cli.EXAMPLES,
    footer = {
      "  programs rc-example --both-ends",
      "  programs rc-example --device udp:127.0.0.2            # server",
      "  programs rc-example --device udp:127.0.0.1 127.0.0.2"
    })
final class RcExample implements Callable<Integer> {
  private static final String SENT = "SEND operation      ";
  private static final String READ = "RDMA read operation ";
  private static final String WRITTEN = "RDMA write operation";
  private static final int MESSAGE_SIZE = SENT.length() + 1;
  private static final String BEFORE = "sync error before RDMA ops";
  private static final String AFTER = "sync error after RDMA ops";
  private static final long TIMEOUT_NANOS = 2_000_000_000L;
  private static final String RULE = " ------------------------------------------------";

  @Spec private CommandSpec spec;

  @Mixin private DeviceOptions options;

  @Mixin private BothEnds bothEnds;

  @Option(
      names = {"-p", "--port"},
      paramLabel = "PORT",
      description = "TCP port to listen on or to connect to; default: ${DEFAULT-VALUE}.")
  private int tcpPort = 19875;

  @Parameters(arity = "0..1", paramLabel = "HOST", description = "The server to connect to.")
  private String host;

  private PrintWriter out;

  /** Returns 0 or 1, like the manual's program, and prints it. */
  @Override
  public Integer call() throws Exception {
    if (bothEnds.wanted()) {
      return runBothEnds();
    }
    out = spec.commandLine().getOut();
    int result = Cli.FAILED;
    try {
      printConfiguration();
      run();
      result = 0;
    } catch (Failure e) {
      Cli.tell(e, spec.commandLine());
    } finally {
      out.println();
      out.println("test result is " + result);
    }
    return result;
  }

  private int runBothEnds() throws Exception {
    return BothEnds.run(
        spec,
        BothEnds.arguments(spec, "-d", BothEnds.SERVER_DEVICE),
        BothEnds.arguments(spec, "-d", BothEnds.CLIENT_DEVICE, BothEnds.TCP_HOST));
  }

  private boolean isServer() {
    return host == null;
  }

  private void printConfiguration() {
    out.println(RULE);
    out.println(" Device name : \"" + (options.name() == null ? "(null)" : options.name()) + "\"");
    out.println(" IB port : " + options.port());
    if (!isServer()) {
      out.println(" IP : " + host);
    }
    out.println(" TCP port : " + tcpPort);
    if (options.hasGidIndex()) {
      out.println(" GID index : " + options.gidIndex());
    }
    out.println(RULE);
    out.println();
  }

  private void run() throws IOException {
    if (isServer()) {
      out.println("waiting on port " + tcpPort + " for TCP connection");
    }
    try (Peer peer = meet()) {
      out.println("TCP connection was established");
      Device device = findDevice();
      try (Context context = attempt("failed to open device " + device, () -> device.open())) {
        run(peer, context);
      }
    } catch (VerbsException e) {
      // Each step has a message of its own; the remaining step is closing.
      throw new Failure("failed to destroy resources", e);
    }
  }

  private void run(Peer peer, Context context) {
    attempt(
        "ibv_query_port on port " + options.port() + " failed",
        () -> context.port(options.port()).attributes());
    try (ProtectionDomain domain =
            attempt("ibv_alloc_pd failed", context::allocateProtectionDomain);
        CompletionQueue completions =
            attempt("failed to create CQ with 1 entries", () -> completionQueue(context));
        Arena arena = Arena.ofConfined()) {
      transfer(peer, domain, completions, arena.allocate(MESSAGE_SIZE));
    }
  }

  /** The send and the receive of an end are outstanding one after the other. */
  private static CompletionQueue completionQueue(Context context) {
    return context.completionQueue(1).withoutCapacityWarning().create();
  }

  private Peer meet() throws IOException {
    try {
      return host == null
          ? Peer.accept(tcpPort, Patience.WITH_PEER)
          : Peer.connect(host, tcpPort, Patience.WITH_PEER);
    } catch (ConnectException e) {
      throw new Failure("Couldn't connect to " + host + ":" + tcpPort, e.getCause());
    }
  }

  private Device findDevice() {
    out.println("searching for IB devices in host");
    List<Device> devices = attempt("failed to get IB devices list", () -> Device.list());
    if (devices.isEmpty()) {
      throw new Failure("found 0 device(s)", new IOException("verbena doctor shows why"));
    }
    out.println("found " + devices.size() + " device(s)");
    if (options.name() == null) {
      out.println("device not specified, using first one found: " + devices.getFirst());
    }
    return attempt("IB device " + options.name() + " wasn't found", options::device);
  }

  private void transfer(
      Peer peer, ProtectionDomain domain, CompletionQueue completions, MemorySegment buffer) {
    if (isServer()) {
      buffer.setString(0, SENT);
      out.println("going to send the message: '" + SENT + "'");
    }
    try (MemoryRegion region =
            attempt(
                "ibv_reg_mr failed with mr_flags=0x7",
                () ->
                    domain.registerMemory(
                        buffer,
                        AccessFlag.LOCAL_WRITE,
                        AccessFlag.REMOTE_READ,
                        AccessFlag.REMOTE_WRITE));
        QueuePair queuePair =
            attempt(
                "failed to create QP",
                () ->
                    QueuePair.builder(domain, QueuePairType.RC)
                        .completions(completions)
                        .signalAll()
                        .create())) {
      out.printf(
          "MR was registered with addr=0x%x, lkey=0x%x, rkey=0x%x, flags=0x7%n",
          buffer.address(), region.lkey(), region.rkey());
      out.printf("QP was created, QP number=0x%x%n", queuePair.number());
      SendList send = new SendList(1, 1);
      send.send(0).local(region, 0, MESSAGE_SIZE);
      RcExchange remote = connect(peer, queuePair, region);
      if (isServer()) {
        serve(peer, queuePair, completions, send, buffer);
      } else {
        visit(peer, queuePair, completions, remote, region);
      }
    }
  }

  private RcExchange connect(Peer peer, QueuePair queuePair, MemoryRegion region) {
    options
        .apply(queuePair)
        .psn(0)
        .access(AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE)
        .reads(1)
        .minRnrTimer(RnrTimer.ofCode(0x12))
        .ackTimeout(AckTimeout.ofCode(0x12))
        .retryCount(6)
        .rnrRetryCount(0);
    GidChoice choice =
        attempt(
            "could not get gid for port " + options.port() + ", index " + options.gidIndex(),
            () -> queuePair.setup().choice());
    out.printf("%nLocal LID = 0x%x%n", choice.lid());
    RcExchange remote =
        exchange(
            peer,
            new RcExchange(
                region.start(), region.rkey(), queuePair.number(), choice.lid(), choice.gid()));
    out.printf("Remote address = 0x%x%n", remote.address());
    out.printf("Remote rkey = 0x%x%n", remote.rkey());
    out.printf("Remote QP number = 0x%x%n", remote.number());
    out.printf("Remote LID = 0x%x%n", remote.lid());
    if (options.hasGidIndex()) {
      out.println("Remote GID = " + HexFormat.ofDelimiter(":").formatHex(remote.gid().toBytes()));
    }
    attempt("failed to modify QP state to INIT", queuePair.setup()::init);
    if (!isServer()) {
      ReceiveList receive = new ReceiveList(1, 1);
      receive.local(0, region, 0, MESSAGE_SIZE);
      attempt("failed to post RR", () -> queuePair.post(receive));
      out.println("Receive Request was posted");
    }
    attempt(
        "failed to modify QP state to RTR",
        () -> queuePair.connect(remote.queuePair(choice.gid())));
    out.println("QP state was change to RTS");
    meet(peer, 'Q', "sync error after QPs were moved to RTS");
    return remote;
  }

  private static RcExchange exchange(Peer peer, RcExchange own) {
    try {
      return RcExchange.of(peer.exchange(own.bytes(), "its connection data"));
    } catch (IOException e) {
      throw new Failure("failed to exchange connection data between sides", e);
    }
  }

  private static void meet(Peer peer, char point, String line) {
    try {
      peer.meetAt(point, "the synchronization '" + point + "'");
    } catch (IOException e) {
      throw new Failure(line, e);
    }
  }

  private void serve(
      Peer peer,
      QueuePair queuePair,
      CompletionQueue completions,
      SendList send,
      MemorySegment buffer) {
    post(queuePair, send, "Send");
    poll(completions);
    buffer.setString(0, READ);
    meet(peer, 'R', BEFORE);
    meet(peer, 'W', AFTER);
    out.println("Contents of server buffer: '" + buffer.getString(0) + "'");
  }

  private void visit(
      Peer peer,
      QueuePair queuePair,
      CompletionQueue completions,
      RcExchange remote,
      MemoryRegion region) {
    MemorySegment buffer = region.memory();
    poll(completions);
    out.println("Message is: '" + buffer.getString(0) + "'");
    meet(peer, 'R', BEFORE);
    SendList request = new SendList(1, 1);
    request.read(0).local(region, 0, MESSAGE_SIZE).remote(remote.address(), remote.rkey());
    post(queuePair, request, "RDMA Read");
    poll(completions);
    out.println("Contents of server's buffer: '" + buffer.getString(0) + "'");
    buffer.setString(0, WRITTEN);
    out.println("Now replacing it with: '" + WRITTEN + "'");
    request.write(0).local(region, 0, MESSAGE_SIZE).remote(remote.address(), remote.rkey());
    post(queuePair, request, "RDMA Write");
    poll(completions);
    meet(peer, 'W', AFTER);
  }

  private void post(QueuePair queuePair, SendList request, String name) {
    attempt("failed to post SR", () -> queuePair.post(request));
    out.println(name + " Request was posted");
  }

  private void poll(CompletionQueue queue) {
    try {
      awaitCompletion(queue);
    } catch (Failure e) {
      throw new Failure(e.getMessage() + "\npoll completion failed", e.getCause());
    }
  }

  private void awaitCompletion(CompletionQueue queue) {
    Completions completions = new Completions(1);
    long start = System.nanoTime();
    while (attempt("poll CQ failed", () -> queue.poll(completions)) == 0) {
      if (System.nanoTime() - start > TIMEOUT_NANOS) {
        throw new Failure(
            "completion wasn't found in the CQ after timeout",
            new IOException("the peer may have ended"));
      }
      Thread.onSpinWait();
    }
    out.printf("completion was found in CQ with status 0x%x%n", completions.status(0).code());
    if (!completions.isSuccess(0)) {
      throw new Failure(
          "got bad completion with status: 0x%x, vendor syndrome: 0x%x"
              .formatted(completions.status(0).code(), completions.vendorError(0)),
          new IOException(completions.describe(0)));
    }
  }
}
