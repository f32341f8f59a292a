package dev.verbena.cm;

import dev.verbena.internal.Arguments;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;

/**
 * How a {@link Connection} is made.
 *
 * @param messageSize how long a message may be, in bytes; the smaller one of both ends' holds
 * @param receives how many messages may arrive before they are received
 * @param sends how many requests may be outstanding, each with room for a message
 * @param parameters what the ends agree on; an RNR retry count of 7 lets a sender wait without end
 *     for a peer that does not receive
 * @param privateData bytes for the peer, sent along with the request or its acceptance: over RoCE
 *     with IP addresses at most 48 to connect and 188 to accept, 8 less than an {@link Endpoint}
 *     can send
 * @param local the address to come from; empty lets the routing table choose
 * @param timeout how long making the connection may take
 */
public record ConnectionSettings(
    int messageSize,
    int receives,
    int sends,
    ConnectionParameters parameters,
    byte[] privateData,
    Optional<InetSocketAddress> local,
    Duration timeout) {

  /**
   * Sixteen messages of 4096 bytes in each direction, retry count and RNR retry count 6, no private
   * data, any local address, ten seconds.
   */
  public static final ConnectionSettings DEFAULT =
      new ConnectionSettings(
          4096,
          16,
          16,
          ConnectionParameters.DEFAULT.withRnrRetryCount(6),
          new byte[0],
          Optional.empty(),
          Duration.ofSeconds(10));

  /** Checks the numbers. */
  public ConnectionSettings {
    Arguments.range("messageSize", messageSize, 1, Integer.MAX_VALUE);
    Arguments.range("receives", receives, 1, 1 << 20);
    Arguments.range("sends", sends, 1, 1 << 20);
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
    return new ConnectionSettings(size, count, sends, parameters, privateData, local, timeout);
  }

  /**
   * The same with another number of outstanding requests.
   *
   * @param count how many requests may be outstanding, each with room for a message
   * @return new settings
   */
  public ConnectionSettings withSends(int count) {
    return new ConnectionSettings(
        messageSize, receives, count, parameters, privateData, local, timeout);
  }

  /**
   * The same with other parameters.
   *
   * @param asked what the ends are to agree on
   * @return new settings
   */
  public ConnectionSettings withParameters(ConnectionParameters asked) {
    return new ConnectionSettings(messageSize, receives, sends, asked, privateData, local, timeout);
  }

  /**
   * The same with private data.
   *
   * @param bytes for the peer
   * @return new settings
   */
  public ConnectionSettings withPrivateData(byte[] bytes) {
    return new ConnectionSettings(messageSize, receives, sends, parameters, bytes, local, timeout);
  }

  /**
   * The same from an address.
   *
   * @param address the address to come from
   * @return new settings
   */
  public ConnectionSettings from(InetSocketAddress address) {
    return new ConnectionSettings(
        messageSize, receives, sends, parameters, privateData, Optional.of(address), timeout);
  }

  /**
   * The same with another limit of time.
   *
   * @param limit how long making the connection may take
   * @return new settings
   */
  public ConnectionSettings within(Duration limit) {
    return new ConnectionSettings(
        messageSize, receives, sends, parameters, privateData, local, limit);
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
