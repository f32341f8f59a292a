package dev.verbena.sockets;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The rules by which channels choose their transport: the first that matches the address counts.
 * The address is that of the peer for a connection, and the local one for a listener.
 *
 * @param rules the rules in their order
 */
record Rules(List<Rule> rules) {
  /** The property with the rules; its value is {@code @} and a file, or rules and semicolons. */
  static final String PROPERTY = "dev.verbena.sockets.rules";

  /** What is done with addresses that no rule matches. */
  private static final Rule DEFAULT =
      new Rule(Rule.Transport.BOTH, null, 0, 0, 0xffff, "the default rule");

  private static volatile @Nullable Rules configured;

  /**
   * Returns the rules of the property.
   *
   * @throws IllegalArgumentException if one is wrong, each time
   * @throws UncheckedIOException if the file cannot be read
   */
  static Rules configured() {
    Rules rules = configured;
    if (rules == null) {
      rules = of(System.getProperty(PROPERTY, ""));
      configured = rules;
    }
    return rules;
  }

  /**
   * Returns the rules of a value of the property.
   *
   * @throws IllegalArgumentException if one is wrong
   * @throws UncheckedIOException if the file cannot be read
   */
  static Rules of(String value) {
    try {
      return parse(value.startsWith("@") ? Files.readString(Path.of(value.substring(1))) : value);
    } catch (IOException e) {
      throw new UncheckedIOException("-D" + PROPERTY + "=" + value + ": " + e, e);
    }
  }

  private static Rules parse(String text) {
    List<Rule> rules = new ArrayList<>();
    int position = 0;
    for (String line : text.split("[;\n]", -1)) {
      position++;
      String rule = line.replaceFirst("#.*", "").strip();
      if (!rule.isEmpty()) {
        try {
          rules.add(Rule.parse(rule));
        } catch (IllegalArgumentException e) {
          throw new IllegalArgumentException(
              "-D%s, position %d: %s".formatted(PROPERTY, position, e.getMessage()), e);
        }
      }
    }
    return new Rules(List.copyOf(rules));
  }

  /**
   * Returns whether all channels are TCP, whatever their address is.
   *
   * @param hasDevices false if no device has an address, or reaches one
   */
  boolean areTcpOnly(boolean hasDevices) {
    for (Rule rule : rules) {
      boolean isTcp = rule.transport() == Rule.Transport.TCP;
      if (isTcp && rule.isOfAll()) {
        return true;
      } else if (!isTcp && (hasDevices || rule.transport() != Rule.Transport.BOTH)) {
        return false;
      }
    }
    return !hasDevices;
  }

  /** Returns the rule of an address. */
  Rule of(InetSocketAddress address) {
    return rules.stream().filter(rule -> rule.matches(address)).findFirst().orElse(DEFAULT);
  }
}
