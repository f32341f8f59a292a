package dev.verbena.soft;

import dev.verbena.internal.ConfiguredDevices;
import dev.verbena.soft.device.Profile;
import dev.verbena.soft.device.SoftDevice;
import dev.verbena.soft.wire.UdpLink;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Creates the devices that the system property {@code dev.verbena.soft} describes: a number, such
 * as {@code 2}, or {@code NAME=ADDRESS+ADDRESS,NAME=...}, where {@code /} begins the next port of a
 * device, or devices over UDP as {@code udp:ADDRESS,...} or {@code udp:ADDRESS:PORT,...}, where an
 * IPv6 address with a port is in brackets. A further element {@code strict} or {@code strict=SEED}
 * is {@link Faults#strict}; {@code profile=NAME} after the devices is {@link SoftNetwork#profile}.
 * Blanks around {@code , = + / :} have no meaning.
 */
final class DescribedDevices {
  private static final String UDP = "udp:";
  private static final Pattern WITH_PORT = Pattern.compile("(?:\\[(.+)]|([^:]+)):(\\d{1,5})");
  private static final Pattern STRICT = Pattern.compile("strict(?:=(\\d{1,18}))?");
  private static final Pattern PROFILED = Pattern.compile("(.*),profile=(\\w+)");
  private static final Pattern SEPARATOR = Pattern.compile("\\s*([,=+/:])\\s*");
  private static final int MAX = 64;

  static {
    ConfiguredDevices.setCreator(description -> network(description).provider());
  }

  private DescribedDevices() {}

  /**
   * Creates the network that is described.
   *
   * @throws IllegalArgumentException if the description is wrong
   */
  static SoftNetwork network(String description) {
    String dense = SEPARATOR.matcher(description).replaceAll("$1");
    List<String> elements = new ArrayList<>(List.of(dense.split(",", -1)));
    Optional<Matcher> strict =
        elements.stream().map(STRICT::matcher).filter(Matcher::matches).findAny();
    elements.removeIf(STRICT.asMatchPredicate());
    SoftNetwork network = withDevices(String.join(",", elements));
    if (strict.isPresent()) {
      String seed = strict.get().group(1);
      Faults faults = network.faults();
      Faults _ = (seed == null ? faults : faults.seed(Long.parseLong(seed))).strict();
    }
    return network;
  }

  private static SoftNetwork withDevices(String description) {
    Matcher profiled = PROFILED.matcher(description);
    String devices = profiled.matches() ? profiled.group(1) : description;
    Profile profile = profiled.matches() ? Profile.named(profiled.group(2)) : Profile.NONE;
    if (devices.startsWith(UDP)) {
      return SoftNetwork.overUdp(
          Arrays.stream(devices.split(",", -1)).map(DescribedDevices::udpAddress).toList(),
          profile);
    }
    SoftNetwork network = SoftNetwork.create().with(profile);
    try {
      if (devices.matches("\\d+")) {
        addNumbered(network, devices);
      } else {
        for (String device : devices.split(",", -1)) {
          addNamed(network, device);
        }
      }
    } catch (RuntimeException e) {
      network.close();
      throw e;
    }
    return network;
  }

  /**
   * The address of a device over UDP.
   *
   * @param description {@code udp:ADDRESS} or {@code udp:ADDRESS:PORT}
   * @throws IllegalArgumentException if the description is wrong
   */
  static InetSocketAddress udpAddress(String description) {
    if (!description.startsWith(UDP)) {
      throw new IllegalArgumentException(
          "devices over UDP are udp:ADDRESS,udp:ADDRESS,...: " + description);
    }
    String text = description.substring(UDP.length());
    Matcher withPort = WITH_PORT.matcher(text);
    if (!withPort.matches()) {
      return new InetSocketAddress(address(text), UdpLink.PORT);
    }
    String address = withPort.group(1) == null ? withPort.group(2) : withPort.group(1);
    int port = Integer.parseInt(withPort.group(3));
    if (port > 0xffff) {
      throw new IllegalArgumentException("a UDP port is 1 to 65535: " + description);
    }
    return new InetSocketAddress(address(address), port);
  }

  /** Devices soft0, soft1, ... with addresses of the ranges for documentation. */
  private static void addNumbered(SoftNetwork network, String description) {
    int count = description.length() > 3 ? MAX + 1 : Integer.parseInt(description);
    if (count > MAX) {
      throw new IllegalArgumentException(
          "dev.verbena.soft is at most " + MAX + " devices, not " + description);
    }
    for (int i = 0; i < count; i++) {
      SoftDevice _ =
          network.add(
              "soft" + i,
              List.of(List.of(address("192.0.2." + (i + 1)), address("2001:db8::" + (i + 1)))));
    }
  }

  private static void addNamed(SoftNetwork network, String device) {
    String[] parts = device.split("=", 2);
    if (parts.length < 2 || parts[0].isEmpty()) {
      throw new IllegalArgumentException(
          "dev.verbena.soft is a number of devices, or NAME=ADDRESS+ADDRESS,...: " + device);
    }
    List<List<InetAddress>> ports = new ArrayList<>();
    for (String port : parts[1].split("/", -1)) {
      ports.add(
          Arrays.stream(port.split("\\+", -1))
              .filter(text -> !text.isEmpty())
              .map(DescribedDevices::address)
              .toList());
    }
    SoftDevice _ = network.add(parts[0], ports);
  }

  /** An address from its text; names are not looked up. */
  private static InetAddress address(String text) {
    if (!text.matches("[0-9a-fA-F.:]+")) {
      throw new IllegalArgumentException("dev.verbena.soft: not an IP address: " + text);
    }
    try {
      return InetAddress.getByName(text);
    } catch (UnknownHostException e) {
      throw new IllegalArgumentException("dev.verbena.soft: not an IP address: " + text, e);
    }
  }
}
