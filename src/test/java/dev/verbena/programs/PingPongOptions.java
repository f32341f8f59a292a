package dev.verbena.programs;

import static dev.verbena.tools.command.Failure.require;
import static dev.verbena.tools.command.Failure.usage;

import dev.verbena.address.Mtu;
import dev.verbena.tools.command.DeviceOptions;
import dev.verbena.tools.command.Patience;
import dev.verbena.tools.command.PeerTimeout;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairSetup;
import java.lang.foreign.Arena;
import java.time.Duration;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import picocli.CommandLine.Spec.Target;

/** The options of pingpong: those of rdma-core's programs. */
final class PingPongOptions {
  /**
   * The number of lines that ibv_srq_pingpong exchanges, whatever the number of its queue pairs.
   */
  private static final int SHARED_LINES = 256;

  @Spec(Target.MIXEE)
  private CommandSpec command;

  @Mixin private DeviceOptions device;

  @Mixin private PeerTimeout timeout;

  @ArgGroup private Service service = new Service();

  /** The options for the type of queue pair. */
  private static final class Service {
    @Option(names = "--rc", description = "Reliable connection; the default.")
    private boolean rc;

    @Option(names = "--uc", description = "Unreliable connection.")
    private boolean uc;

    @Option(names = "--ud", description = "Unreliable datagrams.")
    private boolean ud;

    @Option(names = "--srq", description = "Reliable connections that share a receive queue.")
    private boolean srq;

    @Option(
        names = "--xrc",
        description = "Extended reliable connections (XRC), by polling; supported by few devices.")
    private boolean xrc;

    QueuePairType type() {
      if (rc || srq || xrc || !(uc || ud)) {
        return QueuePairType.RC;
      }
      return ud ? QueuePairType.UD : QueuePairType.UC;
    }
  }

  @Option(
      names = {"-p", "--port"},
      paramLabel = "PORT",
      description = "TCP port to listen on or to connect to; default: ${DEFAULT-VALUE}.")
  private int tcpPort = 18515;

  @Option(
      names = {"-s", "--size"},
      paramLabel = "BYTES",
      description = "Size of a message; default: 4096, for datagrams 1024.")
  private Integer size;

  @Option(
      names = {"-m", "--mtu"},
      paramLabel = "BYTES",
      description = "Path MTU; default: ${DEFAULT-VALUE}.")
  private int mtu = 1024;

  @Option(
      names = {"-q", "--num-qp"},
      paramLabel = "N",
      description = "Queue pairs that share a receive queue; default: ${DEFAULT-VALUE}.")
  private int number = 16;

  @Option(
      names = {"-r", "--rx-depth"},
      paramLabel = "N",
      description = "Number of receive requests to post at a time; default: ${DEFAULT-VALUE}.")
  private int depth = 500;

  @Option(
      names = {"-n", "--iters"},
      paramLabel = "N",
      description = "Exchanges; default: ${DEFAULT-VALUE}.")
  private int iterations = 1000;

  @Option(
      names = {"-l", "--sl"},
      paramLabel = "N",
      description = "Service level.")
  private int serviceLevel;

  @Option(
      names = {"-e", "--events"},
      description = "Sleep until a completion event arrives, instead of polling.")
  private boolean events;

  /** Throws for invalid combinations of options. */
  void check() {
    require(command, "--size", size(), 1, Long.MAX_VALUE);
    require(command, "--iters", iterations, 1, Long.MAX_VALUE);
    require(command, "--rx-depth", depth, 2, Long.MAX_VALUE);
    if (isShared() && (number < 1 || number >= SHARED_LINES || number > depth)) {
      throw usage(
          command,
          "num-qp must be 1 to %d, and not more than rx-depth".formatted(SHARED_LINES - 1));
    }
  }

  Context open() {
    return device.device().open();
  }

  PingPongEnd makeEnd(Context context, Arena arena) {
    QueuePairType type = service.type();
    return type == QueuePairType.UD
        ? new PingPongDatagrams(this, context, arena)
        : new PingPongEnd(this, context, arena, type, isShared() ? number : 1, 0);
  }

  PingPongExchange exchangeOf(PingPongEnd end) {
    return new PingPongExchange(
        end.addresses(), isShared() ? SHARED_LINES : end.number(), mtu(), timeout());
  }

  /** Sets the options of the state transitions of a queue pair. */
  QueuePairSetup apply(QueuePair queuePair) {
    return device.apply(queuePair).mtu(mtu()).serviceLevel(serviceLevel).access().reads(1);
  }

  boolean isExtended() {
    return service.xrc;
  }

  boolean isShared() {
    return service.srq;
  }

  Mtu mtu() {
    return Mtu.ofBytes(mtu);
  }

  /** Returns the time within which the peer must answer over TCP. */
  Duration timeout() {
    return timeout.time();
  }

  /** Returns the time within which the next completion must come. */
  Duration patience() {
    return Patience.forBytes(timeout.time(), size());
  }

  int tcpPort() {
    return tcpPort;
  }

  int size() {
    if (size != null) {
      return size;
    }
    return service.type() == QueuePairType.UD ? 1024 : 4096;
  }

  int depth() {
    return depth;
  }

  int iterations() {
    return iterations;
  }

  boolean events() {
    return events;
  }
}
