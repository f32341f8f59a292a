package dev.verbena.sockets;

import java.math.BigInteger;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A rule: which transport channels of some addresses use.
 *
 * @param transport the transport
 * @param network an address of the network; null is every address
 * @param prefix how many bits of the address are those of the network
 * @param firstPort the first port
 * @param lastPort the last port
 * @param text the rule as it was written
 */
record Rule(
    Transport transport,
    @Nullable InetAddress network,
    int prefix,
    int firstPort,
    int lastPort,
    String text) {
  /** Which transports a rule permits. */
  enum Transport {
    /** Connections by RDMA, or by TCP if there is none by RDMA; listeners by RDMA. */
    RDMA,
    /** RDMA, never TCP. */
    RDMA_ONLY,
    /** TCP. */
    TCP,
    /** Connections as {@link #RDMA}; listeners by both, as far as the address has them. */
    BOTH;

    /** Returns the transport of a word in a rule. */
    static Optional<Transport> of(String word) {
      return Arrays.stream(values()).filter(value -> value.word().equals(word)).findFirst();
    }

    /** Returns the word in a rule. */
    String word() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
  }

  private static final int MAX_PORT = 0xffff;

  /** The transport, then an address with a prefix (of IPv6 in brackets) and ports. */
  private static final Pattern SYNTAX =
      Pattern.compile(
          "(?<transport>\\S+)\\s+"
              + "(?:\\*|(?:(?<four>[0-9.]+)|\\[(?<six>[0-9a-fA-F:.]+)])(?:/(?<prefix>\\d{1,3}))?)"
              + "(?::(?:\\*|(?<first>\\d{1,5})(?:-(?<last>\\d{1,5}))?))?");

  /**
   * Reads a rule, such as {@code rdma 10.0.0.0/8:9000-9999}.
   *
   * @throws IllegalArgumentException if it is none
   */
  static Rule parse(String text) {
    Matcher matcher = SYNTAX.matcher(text);
    if (!matcher.matches()) {
      throw wrong(text, "a rule is a transport, an address or *, and perhaps ports");
    }
    Transport transport =
        Transport.of(matcher.group("transport"))
            .orElseThrow(() -> wrong(text, "a transport is rdma, rdma-only, tcp or both"));
    String address = matcher.group("four") == null ? matcher.group("six") : matcher.group("four");
    InetAddress network = address == null ? null : literal(text, address);
    int bits = network == null ? 0 : network.getAddress().length * Byte.SIZE;
    int prefix = number(matcher.group("prefix"), bits);
    int first = number(matcher.group("first"), 0);
    int last = number(matcher.group("last"), matcher.group("first") == null ? MAX_PORT : first);
    if (prefix > bits) {
      throw wrong(text, "the prefix of this address has at most " + bits + " bits");
    }
    if (first > last || last > MAX_PORT) {
      throw wrong(text, "ports are 0 to 65535, the smaller first");
    }
    return new Rule(transport, network, prefix, first, last, text);
  }

  private static IllegalArgumentException wrong(String text, String why) {
    return new IllegalArgumentException(
        "rule \"%s\": %s; an example: rdma 10.0.0.0/8:9000-9999".formatted(text, why));
  }

  private static InetAddress literal(String text, String address) {
    try {
      return InetAddress.getByName(address); // No name: digits, dots and colons.
    } catch (UnknownHostException e) {
      IllegalArgumentException wrong = wrong(text, address + " is no IP address");
      wrong.initCause(e);
      throw wrong;
    }
  }

  private static int number(@Nullable String digits, int absent) {
    return digits == null ? absent : Integer.parseInt(digits);
  }

  /** Returns whether the rule is for every address. */
  boolean isOfAll() {
    return network == null && firstPort == 0 && lastPort == MAX_PORT;
  }

  /** Returns whether the rule is for an address. */
  boolean matches(InetSocketAddress address) {
    return address.getPort() >= firstPort
        && address.getPort() <= lastPort
        && (network == null || isInNetwork(network, address.getAddress()));
  }

  private boolean isInNetwork(InetAddress of, InetAddress address) {
    int unused = of.getAddress().length * Byte.SIZE - prefix;
    return address.getClass() == of.getClass()
        && bits(address).shiftRight(unused).equals(bits(of).shiftRight(unused));
  }

  private static BigInteger bits(InetAddress address) {
    return new BigInteger(1, address.getAddress());
  }
}
