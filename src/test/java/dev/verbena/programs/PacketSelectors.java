package dev.verbena.programs;

import dev.verbena.address.EthernetAddress;
import dev.verbena.flow.FlowMatch;
import dev.verbena.flow.FlowRule;
import dev.verbena.flow.FlowType;
import dev.verbena.packet.PacketPort;
import dev.verbena.tools.command.Failure;
import java.net.Inet4Address;
import java.net.InetAddress;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import picocli.CommandLine.Spec.Target;

/** The options for a flow rule: the fields to match. A field of 0 is not matched. */
final class PacketSelectors {
  @Spec(Target.MIXEE)
  private CommandSpec command;

  @Option(
      names = "--rule",
      paramLabel = "TYPE",
      description = "${COMPLETION-CANDIDATES}; default: ${DEFAULT-VALUE}.")
  private FlowType type = FlowType.NORMAL;

  @Option(
      names = "--priority",
      paramLabel = "N",
      description = "Priority of the rule; 0, the default, is the highest.")
  private int priority;

  @Option(
      names = "--dmac",
      paramLabel = "MAC",
      converter = EthernetAddressConverter.class,
      description = "Destination address.")
  private EthernetAddress destinationMac;

  @Option(
      names = "--smac",
      paramLabel = "MAC",
      converter = EthernetAddressConverter.class,
      description = "Source address.")
  private EthernetAddress sourceMac;

  @Option(
      names = "--ethertype",
      paramLabel = "N",
      converter = AnyRadix.class,
      description = "EtherType, such as 0x0800 for IPv4.")
  private int etherType;

  @Option(
      names = "--vlan",
      converter = AnyRadix.class,
      paramLabel = "TAG",
      description = "VLAN tag.")
  private int vlan;

  @Option(names = "--sip", paramLabel = "ADDRESS", description = "Source IPv4 address.")
  private InetAddress sourceAddress;

  @Option(names = "--dip", paramLabel = "ADDRESS", description = "Destination IPv4 address.")
  private InetAddress destinationAddress;

  @Option(names = "--proto", paramLabel = "N", description = "Protocol: 17 for UDP, 6 for TCP.")
  private int protocol;

  @Option(names = "--tos", paramLabel = "N", description = "Type of service.")
  private int typeOfService;

  @Option(names = "--ttl", paramLabel = "N", description = "Time to live.")
  private int timeToLive;

  @Option(names = "--sport", paramLabel = "PORT", description = "Source port.")
  private int sourcePort;

  @Option(names = "--dport", paramLabel = "PORT", description = "Destination port.")
  private int destinationPort;

  @Option(names = "--tcp", description = "The ports are those of TCP, not of UDP.")
  private boolean tcp;

  /** Throws unless the options select packets. */
  void check() {
    boolean any = hasEthernet() || hasIp() || hasPorts();
    if (!any && type == FlowType.NORMAL) {
      throw Failure.usage(
          command, "no packets selected: give an address or a port, or --rule sniffer");
    }
    if (any && type != FlowType.NORMAL) {
      throw Failure.usage(command, "addresses and ports require --rule normal");
    }
    inet4(sourceAddress);
    inet4(destinationAddress);
  }

  private boolean hasEthernet() {
    return destinationMac != null || sourceMac != null || (etherType | vlan) != 0;
  }

  private boolean hasIp() {
    return sourceAddress != null
        || destinationAddress != null
        || (protocol | typeOfService | timeToLive) != 0;
  }

  private boolean hasPorts() {
    return (sourcePort | destinationPort) != 0;
  }

  private Inet4Address inet4(InetAddress address) {
    if (address == null || address instanceof Inet4Address) {
      return (Inet4Address) address;
    }
    throw Failure.usage(command, address.getHostAddress() + " is not an IPv4 address");
  }

  /** Creates the rule, which matches every header up to the last one with a field to match. */
  FlowRule rule(PacketPort port) {
    FlowRule.Builder rule = port.flow().type(type).priority(priority);
    if (hasEthernet() || hasIp() || hasPorts()) {
      rule.match(ethernet());
    }
    if (hasIp() || hasPorts()) {
      rule.match(ip());
    }
    if (hasPorts()) {
      FlowMatch.Ports ports = tcp ? FlowMatch.tcp() : FlowMatch.udp();
      rule.match(
          ports
              .source(sourcePort, unlessZero(sourcePort, Short.SIZE))
              .destination(destinationPort, unlessZero(destinationPort, Short.SIZE)));
    }
    return rule.create();
  }

  private FlowMatch ethernet() {
    FlowMatch.Ethernet header =
        FlowMatch.ethernet()
            .type(etherType, unlessZero(etherType, Short.SIZE))
            .vlan(vlan, unlessZero(vlan, Short.SIZE));
    if (sourceMac != null) {
      header.source(sourceMac);
    }
    if (destinationMac != null) {
      header.destination(destinationMac);
    }
    return header;
  }

  /** Returns the mask of an option, whose default is 0. */
  private static int unlessZero(int value, int bits) {
    return value == 0 ? 0 : (1 << bits) - 1;
  }

  private FlowMatch ip() {
    FlowMatch.Ipv4 header =
        FlowMatch.ipv4()
            .protocol(protocol, unlessZero(protocol, Byte.SIZE))
            .typeOfService(typeOfService, unlessZero(typeOfService, Byte.SIZE))
            .timeToLive(timeToLive, unlessZero(timeToLive, Byte.SIZE));
    if (sourceAddress != null) {
      header.source(inet4(sourceAddress));
    }
    if (destinationAddress != null) {
      header.destination(inet4(destinationAddress));
    }
    return header;
  }
}
