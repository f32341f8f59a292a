package dev.verbena.programs;

import static dev.verbena.programs.Steps.attempt;
import static dev.verbena.tools.command.Failure.usage;

import dev.verbena.address.GlobalRoute;
import dev.verbena.cm.ConnectionEvent;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.DatagramParameters;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.EventType;
import dev.verbena.cm.JoinFlag;
import dev.verbena.cm.PortSpace;
import dev.verbena.tools.command.BothEnds;
import dev.verbena.tools.command.Cli;
import dev.verbena.tools.command.Failure;
import java.io.PrintWriter;
import java.lang.foreign.Arena;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * Multicast by the events of RDMA CM, several identifiers on one channel; the peer may be
 * rdma-core's mckey.
 *
 * <p>Unlike the C program, the sender waits until its datagrams are sent, and the receiver checks
 * the status of each completion.
 */
@Command(
    name = "mckey",
    header = "Multicast over RDMA CM; the peer may be rdma-core's mckey.",
    description = "Without -s: receive.",
    footerHeading = Cli.EXAMPLES,
    footer = "  programs mckey --both-ends -m 239.1.2.3")
final class Mckey implements Callable<Integer> {
  private static final Duration RESOLUTION = Duration.ofSeconds(2);

  /** A pause for the subnet manager, which may have to configure switches. */
  private static final Duration PAUSE = Duration.ofSeconds(3);

  private static final int UDP = 0x111;
  private static final int IPOIB = 0x2;

  @Spec private CommandSpec spec;

  @ArgGroup(multiplicity = "1")
  private Group group;

  /** The options for the group. */
  private static final class Group {
    @Option(names = "-m", paramLabel = "ADDRESS", required = true, description = "Group to join.")
    private InetAddress address;

    @Option(
        names = "-M",
        paramLabel = "MGID",
        required = true,
        description = "Group by an address of family AF_IB: not supported.")
    private String unmapped;
  }

  @Mixin private GroupOptions options;

  @Option(
      names = "-c",
      paramLabel = "N",
      description = "Identifiers that join; default: ${DEFAULT-VALUE}.")
  private int connections = 1;

  @Option(
      names = "-C",
      paramLabel = "N",
      description = "Messages for each; default: ${DEFAULT-VALUE}.")
  private int count = 10;

  @Option(
      names = "-S",
      paramLabel = "BYTES",
      description = "Size of a message; 0 for no messages; default: ${DEFAULT-VALUE}.")
  private int size = 100;

  @Option(
      names = "-p",
      paramLabel = "SPACE",
      converter = AnyRadix.class,
      description = "Port space: 0x111 for UDP, 0x2 for IPoIB; default: UDP.")
  private int portSpace = UDP;

  private PrintWriter out;

  @Override
  public Integer call() throws Exception {
    if (options.bothEnds()) {
      return options.runBothEnds();
    }
    out = spec.commandLine().getOut();
    PortSpace space = space();
    if (connections < 1 || count < 0 || size < 0) {
      throw usage(spec, "-c must be 1 or more, -C and -S 0 or more");
    }
    if (group.unmapped != null) {
      throw new UnsupportedOperationException(
          "an unmapped multicast address is of family AF_IB, which this library does not support:"
              + " use -m");
    }
    if (size == 0) {
      count = 0;
    }
    int status = Cli.FAILED;
    try (Arena arena = Arena.ofShared();
        EventChannel channel =
            attempt("failed to create event channel", () -> EventChannel.open())) {
      out.println("mckey: starting " + (options.isSender() ? "client" : "server"));
      out.println("mckey: joining");
      List<GroupMember> members = join(channel, space, arena);
      watch(channel);
      BothEnds.serverIsReady();
      Thread.sleep(PAUSE);
      transfer(members);
      members.forEach(this::leave);
      status = 0;
    } finally {
      out.println("test complete");
      out.println("return status " + status);
    }
    return status;
  }

  private PortSpace space() {
    return switch (portSpace) {
      case UDP -> PortSpace.UDP;
      case IPOIB -> PortSpace.IPOIB;
      default -> throw usage(spec, "the port space is 0x111 (UDP) or 0x2 (IPoIB)");
    };
  }

  private InetSocketAddress to() {
    return new InetSocketAddress(group.address, 0);
  }

  /** Resolves the group's address, creates the queue pair and joins, with each identifier. */
  private List<GroupMember> join(EventChannel channel, PortSpace space, Arena arena)
      throws InterruptedException {
    InetSocketAddress from = options.from(0);
    for (int i = 0; i < connections; i++) {
      ConnectionId id = channel.createId(space);
      if (from != null) {
        attempt("mckey: addr bind failure: %d", () -> id.bind(from));
      }
      attempt("mckey: resolve addr failure: %d", () -> id.resolveAddress(from, to(), RESOLUTION));
    }
    List<GroupMember> members = new ArrayList<>();
    for (int joined = 0; joined < connections; ) {
      ConnectionEvent event = channel.take();
      if (event.isFailure()) {
        throw new Failure(
            "mckey: event: %s, error: %d".formatted(event.type().text(), event.status()),
            new IllegalStateException(event.toString()));
      }
      if (event.type() == EventType.ADDR_RESOLVED) {
        members.add(prepare(event.id(), arena));
      } else if (event.type() == EventType.MULTICAST_JOIN) {
        joined(members, event);
        joined++;
      }
    }
    return members;
  }

  private GroupMember prepare(ConnectionId id, Arena arena) {
    int mtu = GroupMember.mtu(id);
    if (count > 0 && size > mtu) {
      throw new Failure("mckey: message_size %d is larger than active mtu %d".formatted(size, mtu));
    }
    GroupMember member = new GroupMember(id, arena, Math.max(1, count), size);
    if (!options.isSender()) {
      member.postReceives(count);
    }
    attempt("mckey: failure joining: %d", () -> id.multicast().join(to(), JoinFlag.FULLMEMBER, 0));
    return member;
  }

  private void joined(List<GroupMember> members, ConnectionEvent event) {
    DatagramParameters parameters = event.datagram().orElseThrow();
    out.println(
        "mckey: joined dgid: "
            + parameters.path().route().map(GlobalRoute::destination).orElseThrow());
    members.stream()
        .filter(member -> member.id().equals(event.id()))
        .findFirst()
        .orElseThrow()
        .aimAt(parameters);
  }

  /** Prints other events until the channel is closed. */
  private void watch(EventChannel channel) {
    EventWatch.start(
        channel,
        event -> {
          if (event.type() == EventType.MULTICAST_ERROR || event.type() == EventType.ADDR_CHANGE) {
            out.println("mckey: event: " + event.type().text() + ", status: " + event.status());
          }
        });
  }

  private void transfer(List<GroupMember> members) throws InterruptedException {
    if (count == 0) {
      return;
    }
    out.println(options.isSender() ? "initiating data transfers" : "receiving data transfers");
    for (GroupMember member : members) {
      if (options.isSender()) {
        for (int i = 0; i < count; i++) {
          member.send();
        }
        member.awaitSent(count);
      } else {
        member.receive(count, options.patience(), received -> {});
      }
    }
    out.println("data transfers complete");
  }

  private void leave(GroupMember member) {
    attempt("mckey: failure leaving: %d", () -> member.id().multicast().leave(to()));
  }
}
