package dev.verbena.aeron;

import io.aeron.driver.media.UdpChannel;
import io.aeron.exceptions.AeronException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Which addresses are reached by RDMA: the first rule that matches counts.
 *
 * @param lines the rules in their order
 */
record Rules(List<Line> lines) {
  /** The property with the rules, with semicolons between them. */
  static final String PROPERTY = "dev.verbena.aeron.rules";

  /** What a rule says. */
  enum Rule {
    /** By RDMA, and by UDP as long as that is not possible; without a rule, too. */
    RDMA,
    /** By RDMA, never by UDP. */
    RDMA_ONLY,
    /** By UDP. */
    UDP,
    /** Of multicast groups, which are by UDP without this rule: by RDMA, for all members. */
    RDMA_MULTICAST
  }

  /**
   * A rule.
   *
   * @param network the first bytes of its addresses, of which {@code prefix} bits count
   */
  record Line(Rule rule, byte[] network, int prefix, int firstPort, int lastPort) {
    private boolean matches(InetSocketAddress address) {
      int port = address.getPort();
      byte[] bytes = address.getAddress().getAddress();
      return (rule != Rule.RDMA_MULTICAST
              || address.getAddress() instanceof Inet4Address group && group.isMulticastAddress())
          && port >= firstPort
          && port <= lastPort
          && (network.length == 0 || (network.length == bytes.length && isInNetwork(bytes)));
    }

    private boolean isInNetwork(byte[] address) {
      for (int bit = 0; bit < prefix; bit++) {
        int mask = 0x80 >>> bit % Byte.SIZE;
        if (((address[bit / Byte.SIZE] ^ network[bit / Byte.SIZE]) & mask) != 0) {
          return false;
        }
      }
      return true;
    }
  }

  private static final int MAX_PORT = 0xffff;

  private static final Pattern SYNTAX =
      Pattern.compile(
          "(?<rule>\\S+)\\s+"
              + "(?:\\*|(?:(?<four>[0-9.]+)|\\[(?<six>[0-9a-fA-F:.]+)])(?:/(?<prefix>\\d{1,3}))?)"
              + "(?::(?:\\*|(?<first>\\d{1,5})(?:-(?<last>\\d{1,5}))?))?");

  /**
   * Reads rules.
   *
   * @throws IllegalArgumentException if one is wrong
   */
  static Rules of(String text) {
    List<Line> lines = new ArrayList<>();
    for (String line : text.split(";", -1)) {
      if (!line.isBlank()) {
        lines.add(line(line.strip()));
      }
    }
    return new Rules(List.copyOf(lines));
  }

  private static Line line(String text) {
    Matcher matcher = SYNTAX.matcher(text);
    if (!matcher.matches()) {
      throw wrong(text, "a rule is a transport, an address or *, and perhaps ports");
    }
    Rule rule =
        Arrays.stream(Rule.values())
            .filter(value -> word(value).equals(matcher.group("rule")))
            .findFirst()
            .orElseThrow(
                () -> wrong(text, "a transport is udp, rdma, rdma-only or rdma-multicast"));
    byte[] network =
        bytes(text, matcher.group("four") == null ? matcher.group("six") : matcher.group("four"));
    int prefix = number(matcher.group("prefix"), network.length * Byte.SIZE);
    int first = number(matcher.group("first"), 0);
    int last = number(matcher.group("last"), matcher.group("first") == null ? MAX_PORT : first);
    if (prefix > network.length * Byte.SIZE) {
      throw wrong(text, "the prefix is longer than the address");
    }
    if (first > last || last > MAX_PORT) {
      throw wrong(text, "ports are 0 to 65535, the smaller first");
    }
    return new Line(rule, network, prefix, first, last);
  }

  private static String word(Rule rule) {
    return rule.name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  private static byte[] bytes(String text, String address) {
    if (address == null) {
      return new byte[0];
    }
    try {
      return InetAddress.getByName(address).getAddress(); // No name: digits, dots and colons.
    } catch (UnknownHostException e) {
      IllegalArgumentException wrong = wrong(text, address + " is no IP address");
      wrong.initCause(e);
      throw wrong;
    }
  }

  private static int number(String digits, int absent) {
    return digits == null ? absent : Integer.parseInt(digits);
  }

  private static IllegalArgumentException wrong(String text, String why) {
    return new IllegalArgumentException(
        "-D%s, rule \"%s\": %s; an example: rdma 10.0.0.0/8:9000-9999"
            .formatted(PROPERTY, text, why));
  }

  /**
   * Returns the rules of the property.
   *
   * @throws IllegalArgumentException if one is wrong
   */
  static Rules configured() {
    return of(System.getProperty(PROPERTY, ""));
  }

  /**
   * Throws an exception if a channel that can only be one of UDP must not be.
   *
   * @param why why it can only be that
   */
  void requireUdpAllowed(UdpChannel channel, String why) {
    InetSocketAddress address = channel.remoteData();
    if (address != null && !address.isUnresolved() && of(address) == Rule.RDMA_ONLY) {
      throw new AeronException("the rule of " + address + " is rdma-only: " + why);
    }
  }

  /** Returns the group of a channel by RDMA; null if the channel is unicast, or by UDP. */
  Group group(UdpChannel channel, boolean isMember) {
    InetSocketAddress data = channel.remoteData();
    boolean isByRdma = channel.isMulticast() && of(data) == Rule.RDMA_MULTICAST;
    return isByRdma ? new Group(data, channel.localData().getAddress(), isMember) : null;
  }

  /**
   * Throws an exception if the rule of an address is rdma-only, and no device has the local one.
   *
   * @param local the address of the socket, or the wildcard address, for which nothing is known
   */
  void requireDevice(InetSocketAddress address, InetAddress local) {
    if (of(address) == Rule.RDMA_ONLY && !local.isAnyLocalAddress()) {
      Devices.obstacle(local)
          .ifPresent(
              obstacle -> {
                throw new AeronException("the rule is rdma-only: " + obstacle);
              });
    }
  }

  /** Returns the rule of an address. */
  Rule of(InetSocketAddress address) {
    for (Line line : lines) {
      if (line.matches(address)) {
        return line.rule();
      }
    }
    return Rule.RDMA;
  }
}
