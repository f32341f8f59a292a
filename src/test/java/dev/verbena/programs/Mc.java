package dev.verbena.programs;

import static dev.verbena.programs.Steps.attempt;
import static dev.verbena.tools.command.Failure.usage;

import dev.verbena.address.GlobalRoute;
import dev.verbena.cm.ConnectionEvent;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.DatagramParameters;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.EventType;
import dev.verbena.cm.PortSpace;
import dev.verbena.tools.command.BothEnds;
import dev.verbena.tools.command.Cli;
import dev.verbena.tools.command.Failure;
import java.io.PrintWriter;
import java.lang.foreign.Arena;
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
 * The manual's example of multicast: sends one message after the other, and waits for each.
 *
 * <p>The manual requires the sender's queue pair number as immediate data. Multicast does not need
 * it; but receivers that follow the manual may read it.
 */
@Command(
    name = "mc",
    header = "Multicast with RDMA CM: the example of the RDMA programming manual.",
    description = "Without -s: receive.",
    footerHeading = Cli.EXAMPLES,
    footer = "  programs mc --both-ends -m 239.1.2.3")
final class Mc implements Callable<Integer> {
  private static final Duration RESOLUTION = Duration.ofSeconds(2);

  @Spec private CommandSpec spec;

  @Mixin private GroupOptions options;

  @Option(names = "-m", paramLabel = "ADDRESS", description = "Group to join.")
  private InetAddress group;

  @Option(
      names = "-p",
      paramLabel = "PORT",
      description = "Port of the address to bind to; groups have none. Default: any.")
  private int port;

  @Option(names = "-c", paramLabel = "N", description = "Messages; default: ${DEFAULT-VALUE}.")
  private int count = 4;

  @Option(
      names = "-l",
      paramLabel = "BYTES",
      description = "Length of a message; default: ${DEFAULT-VALUE}.")
  private int length = 64;

  private PrintWriter out;

  @Override
  public Integer call() throws Exception {
    if (options.bothEnds()) {
      return options.runBothEnds();
    }
    out = spec.commandLine().getOut();
    if (group == null) {
      throw usage(spec, "multicast address must be specified with -m");
    }
    if (count < 1 || length < 1) {
      throw usage(spec, "-c and -l must be 1 or more");
    }
    try (Arena arena = Arena.ofShared();
        EventChannel channel = EventChannel.open();
        ConnectionId id = channel.createId(PortSpace.UDP)) {
      resolve(id, channel);
      GroupMember member = prepare(id, arena);
      join(member, channel);
      EventWatch.start(
          channel,
          event -> out.println("event " + event.type().text() + ", status " + event.status()));
      if (options.isSender()) {
        send(member);
      } else {
        BothEnds.serverIsReady();
        out.println("waiting for messages...");
        member.receive(
            count, options.patience(), number -> out.println("received message " + number));
      }
      attempt("rdma_leave_multicast failed", () -> id.multicast().leave(to()));
    }
    return 0;
  }

  private InetSocketAddress to() {
    return new InetSocketAddress(group, 0);
  }

  /** Binds the identifier to the device that reaches the group, or that the option selected. */
  private void resolve(ConnectionId id, EventChannel channel) throws InterruptedException {
    InetSocketAddress from = options.from(port);
    if (from != null) {
      attempt("rdma_bind_addr failed", () -> id.bind(from));
    }
    attempt("rdma_resolve_addr failed", () -> id.resolveAddress(from, to(), RESOLUTION));
    await(channel, EventType.ADDR_RESOLVED);
  }

  private GroupMember prepare(ConnectionId id, Arena arena) {
    int mtu = GroupMember.mtu(id);
    if (length > mtu) {
      throw new Failure("buffer length %d is larger then active mtu %d".formatted(length, mtu));
    }
    GroupMember member = new GroupMember(id, arena, count, length);
    if (!options.isSender()) {
      member.postReceives(count);
    }
    return member;
  }

  private void join(GroupMember member, EventChannel channel) throws InterruptedException {
    attempt("rdma_join_multicast failed", () -> member.id().multicast().join(to(), 0));
    DatagramParameters joined = await(channel, EventType.MULTICAST_JOIN).datagram().orElseThrow();
    out.printf(
        "joined dgid: %s, mlid 0x%x, sl %d%n",
        joined.path().route().map(GlobalRoute::destination).orElseThrow(),
        joined.path().lid(),
        joined.path().serviceLevel());
    member.aimAt(joined);
  }

  private static ConnectionEvent await(EventChannel channel, EventType wanted)
      throws InterruptedException {
    ConnectionEvent event = channel.take();
    if (event.type() != wanted || event.isFailure()) {
      throw new Failure(
          "event: %s, status: %d".formatted(event.type().text(), event.status()),
          new IllegalStateException(event.toString()));
    }
    return event;
  }

  private void send(GroupMember member) throws InterruptedException {
    for (int number = 1; number <= count; number++) {
      member.send();
      member.awaitSent(1);
      out.println("sent message " + number);
    }
  }
}
