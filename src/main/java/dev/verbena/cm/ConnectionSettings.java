package dev.verbena.cm;

import dev.verbena.internal.Arguments;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;

/**
 * How a {@link Connection} is made.
 *
 * @param messageSize how long a message may be, in bytes; the peer's must agree
 * @param receives how many messages may arrive before they are received
 * @param parameters what the ends agree on
 * @param privateData bytes for the peer, sent along with the request or its acceptance
 * @param local the address to come from; empty lets the routing table choose
 * @param timeout how long making the connection may take
 */
public record ConnectionSettings(
    int messageSize,
    int receives,
    ConnectionParameters parameters,
    byte[] privateData,
    Optional<InetSocketAddress> local,
    Duration timeout) {

  /** Sixteen messages of 4096 bytes, no private data, any local address, ten seconds. */
  public static final ConnectionSettings DEFAULT =
      new ConnectionSettings(
          4096,
          16,
          ConnectionParameters.DEFAULT,
          new byte[0],
          Optional.empty(),
          Duration.ofSeconds(10));

  /** Checks the numbers. */
  public ConnectionSettings {
    Arguments.range("messageSize", messageSize, 1, Integer.MAX_VALUE);
    Arguments.range("receives", receives, 1, 1 << 20);
    Objects.requireNonNull(parameters, "parameters");
    privateData = privateData.clone();
    Objects.requireNonNull(local, "local");
    Objects.requireNonNull(timeout, "timeout");
  }

  /**
   * The same with other messages.
   *
   * @param size how long a message may be, in bytes
   * @param count how many may arrive before they are received
   * @return new settings
   */
  public ConnectionSettings withMessages(int size, int count) {
    return new ConnectionSettings(size, count, parameters, privateData, local, timeout);
  }

  /**
   * The same with other parameters.
   *
   * @param asked what the ends are to agree on
   * @return new settings
   */
  public ConnectionSettings withParameters(ConnectionParameters asked) {
    return new ConnectionSettings(messageSize, receives, asked, privateData, local, timeout);
  }

  /**
   * The same with private data.
   *
   * @param bytes for the peer
   * @return new settings
   */
  public ConnectionSettings withPrivateData(byte[] bytes) {
    return new ConnectionSettings(messageSize, receives, parameters, bytes, local, timeout);
  }

  /**
   * The same from an address.
   *
   * @param address the address to come from
   * @return new settings
   */
  public ConnectionSettings from(InetSocketAddress address) {
    return new ConnectionSettings(
        messageSize, receives, parameters, privateData, Optional.of(address), timeout);
  }

  /**
   * The same with another limit of time.
   *
   * @param limit how long making the connection may take
   * @return new settings
   */
  public ConnectionSettings within(Duration limit) {
    return new ConnectionSettings(messageSize, receives, parameters, privateData, local, limit);
  }

  /**
   * What is sent along.
   *
   * @return a copy of the bytes
   */
  @Override
  public byte[] privateData() {
    return privateData.clone();
  }
}
