package dev.verbena.programs;

import dev.verbena.flow.FlowRule;
import dev.verbena.packet.PacketBuffers;
import dev.verbena.packet.PacketPort;
import dev.verbena.packet.PacketPortBuilder;
import dev.verbena.tools.command.BothEnds;
import dev.verbena.tools.command.Cli;
import dev.verbena.tools.command.Failure;
import dev.verbena.tools.command.PortOptions;
import dev.verbena.tools.command.Tracing;
import dev.verbena.util.ReceiveHandler;
import dev.verbena.util.ReceiveRing;
import dev.verbena.values.CompletionFlag;
import dev.verbena.verbs.Completions;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Counts packets: a given number, or without end. */
@Command(
    name = "receive",
    header = "Receive raw packets, and count them.",
    description = {
      "Packets that match the rule are delivered to this program only, unless the rule is a"
          + " sniffer.",
      "Requires a device that supports raw packets, and CAP_NET_RAW."
    },
    footerHeading = Cli.EXAMPLES,
    footer = "  programs packets receive -d mlx5_0 --rule sniffer -n 100")
final class PacketReceive implements Callable<Integer>, ReceiveHandler {
  private static final long SECOND = 1_000_000_000;

  @Spec private CommandSpec spec;

  @Mixin private PortOptions device;

  @Mixin
  @SuppressWarnings("UnusedVariable") // Required by picocli.
  private Tracing tracing;

  @Mixin private PacketSelectors selectors;

  @Option(
      names = {"-n", "--count"},
      paramLabel = "N",
      description = "Number of packets to receive; default: unlimited.")
  private long wanted = Long.MAX_VALUE;

  @Option(
      names = {"-t", "--timeout"},
      paramLabel = "SECONDS",
      description = "End if no packet arrives within this time; with --count this is a failure.")
  private long patience = Long.MAX_VALUE;

  @Option(
      names = {"-s", "--size"},
      paramLabel = "BYTES",
      description = "Maximum length of a packet; default: ${DEFAULT-VALUE}.")
  private int size = 1518;

  @Option(
      names = "--header",
      paramLabel = "BYTES",
      description =
          "Bytes at the start of each packet to receive in a separate SGE; default: none.")
  private int header;

  @Option(
      names = {"-r", "--receives"},
      paramLabel = "N",
      description = "Number of receive requests; default: ${DEFAULT-VALUE}.")
  private int depth = 256;

  @Option(names = "--inactive", description = "Open the port even if it is not active.")
  private boolean inactive;

  private PrintWriter out;
  private long posted;
  private long packets;
  private long bytes;
  private long good;

  @Override
  public Integer call() throws InterruptedException {
    out = spec.commandLine().getOut();
    selectors.check();
    if (wanted < 1 || patience < 0 || depth < 1 || header < 0 || header >= size) {
      throw Failure.usage(spec, "-n, -t, -r and -s must be positive, and --header less than -s");
    }
    int receives = (int) Math.min(depth, wanted);
    PacketPortBuilder asked =
        PacketPort.on(device.device(), device.port())
            .receives(receives)
            .sendSges(1)
            .receiveSges(header == 0 ? 1 : 2);
    try (PacketPort port = (inactive ? asked.allowInactive() : asked).open();
        PacketBuffers memory = memory(port, receives);
        FlowRule rule = selectors.rule(port)) {
      posted = receives;
      ReceiveRing ring = port.startReceiving(memory.receives(receives));
      BothEnds.serverIsReady();
      out.println("receiving on " + port + " by a " + rule);
      run(port, ring);
    }
    return 0;
  }

  private PacketBuffers memory(PacketPort port, int receives) {
    PacketBuffers.Builder buffers = port.packets(receives);
    if (header > 0) {
      buffers.fragment(header, 0);
    }
    return buffers.fragment(size - header, 0).create();
  }

  private void run(PacketPort port, ReceiveRing ring) throws InterruptedException {
    Duration timeout = Duration.ofSeconds(patience);
    long told = System.nanoTime();
    while (packets < wanted && port.awaitReceived(timeout) > 0) {
      ring.handle(port.received(), this);
      if (System.nanoTime() - told > SECOND) {
        told = System.nanoTime();
        tell();
      }
    }
    tell();
    if (packets < wanted && wanted != Long.MAX_VALUE) {
      throw new Failure(
          "%d of %d packets received, none within %d s".formatted(packets, wanted, patience));
    }
  }

  private void tell() {
    out.printf("%d packets, %d bytes; %d with good checksums%n", packets, bytes, good);
  }

  @Override
  public boolean received(Completions completions, int index, int request) {
    if (!completions.isSuccess(index)) {
      throw new Failure(completions.describe(index));
    }
    packets++;
    bytes += completions.byteLength(index);
    good += completions.has(index, CompletionFlag.IP_CSUM_OK) ? 1 : 0;
    if (posted == wanted) {
      return false;
    }
    posted++;
    return true;
  }
}
