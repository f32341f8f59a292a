package dev.verbena.programs;

import dev.verbena.address.EthernetAddress;
import dev.verbena.packet.PacketBuffers;
import dev.verbena.packet.PacketPort;
import dev.verbena.packet.PacketPortBuilder;
import dev.verbena.tools.command.BothEnds;
import dev.verbena.tools.command.Cli;
import dev.verbena.tools.command.Failure;
import dev.verbena.tools.command.PortOptions;
import dev.verbena.verbs.SendList;
import java.io.PrintWriter;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Sends UDP packets, whose bytes are all written by this program. */
@Command(
    name = "send",
    header = "Send raw packets: UDP over IPv4, numbered.",
    description = "Requires a device that supports raw packets, and CAP_NET_RAW.",
    footerHeading = Cli.EXAMPLES,
    footer = "  programs packets send --both-ends --dmac 02:00:00:00:00:0a -n 20")
final class PacketSend implements Callable<Integer> {
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  @Spec private CommandSpec spec;

  @Mixin private PortOptions device;

  @Mixin private BothEnds bothEnds;

  @Option(
      names = "--dmac",
      required = true,
      paramLabel = "MAC",
      converter = EthernetAddressConverter.class,
      description = "Destination address.")
  private EthernetAddress destinationMac;

  @Option(
      names = "--smac",
      paramLabel = "MAC",
      converter = EthernetAddressConverter.class,
      description = "Source address; default: ${DEFAULT-VALUE}.")
  private EthernetAddress sourceMac = EthernetAddress.parse("02:00:00:00:00:01");

  @Option(
      names = "--sip",
      paramLabel = "ADDRESS",
      defaultValue = "10.0.0.1",
      description = "Source IPv4 address; default: ${DEFAULT-VALUE}.")
  private InetAddress sourceAddress;

  @Option(
      names = "--dip",
      paramLabel = "ADDRESS",
      defaultValue = "10.0.0.2",
      description = "Destination IPv4 address; default: ${DEFAULT-VALUE}.")
  private InetAddress destinationAddress;

  @Option(
      names = "--sport",
      paramLabel = "PORT",
      description = "Source port; default: ${DEFAULT-VALUE}.")
  private int sourcePort = 4000;

  @Option(
      names = "--dport",
      paramLabel = "PORT",
      description = "Destination port; default: ${DEFAULT-VALUE}.")
  private int destinationPort = 4000;

  @Option(
      names = {"-n", "--count"},
      paramLabel = "N",
      description = "Number of packets; default: ${DEFAULT-VALUE}.")
  private long count = 1;

  @Option(
      names = {"-s", "--size"},
      paramLabel = "BYTES",
      description = "Length of a packet including its Ethernet header; default: ${DEFAULT-VALUE}.")
  private int size = 64;

  @Option(
      names = "--offload",
      description =
          "Checksum offload: the device computes the checksums; default: the IPv4 checksum is"
              + " computed by the program.")
  private boolean offload;

  @Option(
      names = "--depth",
      paramLabel = "N",
      description = "Number of outstanding send requests; default: ${DEFAULT-VALUE}.")
  private int depth = 64;

  @Option(names = "--inactive", description = "Open the port even if it is not active.")
  private boolean inactive;

  @Override
  public Integer call() throws Exception {
    check();
    if (bothEnds.wanted()) {
      return runBothEnds();
    }
    PrintWriter out = spec.commandLine().getOut();
    int sends = (int) Math.min(depth, count);
    UdpFrame frame =
        new UdpFrame(
            destinationMac,
            sourceMac,
            (Inet4Address) sourceAddress,
            (Inet4Address) destinationAddress,
            sourcePort,
            destinationPort,
            size);
    PacketPortBuilder asked = PacketPort.on(device.device(), device.port()).sends(sends);
    try (PacketPort port = (inactive ? asked.allowInactive() : asked).open();
        PacketBuffers packets = port.packets(sends).fragment(size, 0).create()) {
      SendList list = offload ? packets.sendsWithChecksum(sends) : packets.sends(sends);
      for (int i = 0; i < sends; i++) {
        frame.writeTo(packets.fragment(i, 0));
        if (!offload) {
          UdpFrame.putChecksum(packets.fragment(i, 0));
        }
        UdpFrame.putNumber(packets.fragment(i, 0), i);
      }
      out.println("sending from " + port + " to " + destinationMac);
      send(port, packets, list);
      out.printf(
          "%d packets, %d bytes; checksums by %s%n",
          count, count * size, offload ? "the device" : "Java");
    }
    return 0;
  }

  /** The server is a program that receives the packets. */
  private int runBothEnds() throws Exception {
    List<String> receive = List.of("packets", "receive", "-d", BothEnds.SERVER_DEVICE);
    List<String> selected =
        List.of("--dmac", destinationMac.toString(), "--dport", Integer.toString(destinationPort));
    List<String> amount =
        List.of(
            "-n",
            Long.toString(count),
            "-s",
            Integer.toString(size),
            "-t",
            PATIENCE.toSeconds() + "");
    return BothEnds.run(
        spec,
        Stream.of(receive, selected, amount).flatMap(List::stream).toList(),
        BothEnds.arguments(spec, "-d", BothEnds.CLIENT_DEVICE));
  }

  private void check() {
    if (count < 1 || depth < 1) {
      throw Failure.usage(spec, "-n and --depth must be positive");
    }
    if (size < UdpFrame.SHORTEST || size > UdpFrame.LONGEST) {
      throw Failure.usage(
          spec, "-s must be %d to %d".formatted(UdpFrame.SHORTEST, UdpFrame.LONGEST));
    }
    if (((sourcePort | destinationPort) & ~0xffff) != 0) {
      throw Failure.usage(spec, "a port must be 0 to 65535");
    }
    if (!(sourceAddress instanceof Inet4Address && destinationAddress instanceof Inet4Address)) {
      throw Failure.usage(spec, "--sip and --dip must be IPv4 addresses");
    }
  }

  /** Sends the packets. Requests complete in order: each is numbered again and posted again. */
  private void send(PacketPort port, PacketBuffers packets, SendList list)
      throws InterruptedException {
    long posted = port.startSending(list);
    for (long done = 0; done < count; ) {
      done += awaitSent(port);
      while (posted < count && posted - done < list.size()) {
        int slot = (int) (posted % list.size());
        UdpFrame.putNumber(packets.fragment(slot, 0), posted);
        if (port.queuePair().post(list, slot, 1) == 0) {
          break;
        }
        posted++;
      }
    }
  }

  private static int awaitSent(PacketPort port) throws InterruptedException {
    int sent = port.awaitSent(PATIENCE);
    if (sent == 0) {
      throw new Failure("no completion within " + PATIENCE.toSeconds() + " s");
    }
    for (int i = 0; i < sent; i++) {
      if (!port.sent().isSuccess(i)) {
        throw new Failure(port.sent().describe(i));
      }
    }
    return sent;
  }
}
