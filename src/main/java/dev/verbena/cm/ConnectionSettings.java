package dev.verbena.cm;

import dev.verbena.internal.Arguments;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The settings of a {@link Connection}: its messages, its queues, and how it is established.
 *
 * {@snippet :
 * ConnectionSettings settings =
 *     ConnectionSettings.DEFAULT.withMessageSize(1 << 16).withReceives(64).within(TIMEOUT);
 * }
 */
public final class ConnectionSettings {
  /** The default settings, as each method describes them. */
  public static final ConnectionSettings DEFAULT =
      new ConnectionSettings(
          4096,
          16,
          16,
          ConnectionParameters.DEFAULT.withRnrRetryCount(6),
          new byte[0],
          null,
          Duration.ofSeconds(10));

  private final int messageSize;
  private final int receives;
  private final int sends;
  private final ConnectionParameters parameters;
  private final byte[] privateData;
  private final @Nullable InetSocketAddress local;
  private final Duration timeout;

  private ConnectionSettings(
      int messageSize,
      int receives,
      int sends,
      ConnectionParameters parameters,
      byte[] privateData,
      @Nullable InetSocketAddress local,
      Duration timeout) {
    this.messageSize = Arguments.range("message size", messageSize, 1, Integer.MAX_VALUE);
    this.receives = Arguments.range("number of receive requests", receives, 1, 1 << 20);
    this.sends = Arguments.range("number of send requests", sends, 1, 1 << 20);
    this.parameters = Objects.requireNonNull(parameters, "parameters");
    this.privateData = privateData.clone();
    this.local = local;
    this.timeout = Objects.requireNonNull(timeout, "timeout");
  }

  /**
   * Returns these settings with another maximum size of a message. The default is 4096. The smaller
   * one of both sides applies.
   *
   * @param size the size in bytes, at least 1
   * @return the settings
   */
  public ConnectionSettings withMessageSize(int size) {
    return new ConnectionSettings(size, receives, sends, parameters, privateData, local, timeout);
  }

  /**
   * Returns these settings with another number of messages that can arrive before they are
   * received. The default is 16.
   *
   * @param count the number of receive requests, each with a buffer for a message
   * @return the settings
   */
  public ConnectionSettings withReceives(int count) {
    return new ConnectionSettings(
        messageSize, count, sends, parameters, privateData, local, timeout);
  }

  /**
   * Returns these settings with another number of outstanding send requests. The default is 16.
   *
   * @param count the number of send requests, each with a buffer for a message
   * @return the settings
   */
  public ConnectionSettings withSends(int count) {
    return new ConnectionSettings(
        messageSize, receives, count, parameters, privateData, local, timeout);
  }

  /**
   * Returns these settings with other connection parameters. The default is {@link
   * ConnectionParameters#DEFAULT} with an RNR retry count of 6: with 7 a sender waits without limit
   * for a remote side that does not receive.
   *
   * @param parameters the parameters
   * @return the settings
   */
  public ConnectionSettings withParameters(ConnectionParameters parameters) {
    return new ConnectionSettings(
        messageSize, receives, sends, parameters, privateData, local, timeout);
  }

  /**
   * Returns these settings with private data, which is sent with the connection request or its
   * acceptance. The default is none.
   *
   * @param bytes the data: with IP addresses over RoCE at most 48 bytes to connect and 188 to
   *     accept, 8 less than an {@link Endpoint} can send
   * @return the settings
   */
  public ConnectionSettings withPrivateData(byte[] bytes) {
    return new ConnectionSettings(messageSize, receives, sends, parameters, bytes, local, timeout);
  }

  /**
   * Returns these settings with a local address. By default the routing table selects it.
   *
   * @param address the local address
   * @return the settings
   */
  public ConnectionSettings from(InetSocketAddress address) {
    Objects.requireNonNull(address, "address");
    return new ConnectionSettings(
        messageSize, receives, sends, parameters, privateData, address, timeout);
  }

  /**
   * Returns these settings with another timeout of the establishment. The default is ten seconds.
   *
   * @param timeout the maximum time until the connection is established
   * @return the settings
   */
  public ConnectionSettings within(Duration timeout) {
    return new ConnectionSettings(
        messageSize, receives, sends, parameters, privateData, local, timeout);
  }

  /**
   * Returns the maximum size of a message.
   *
   * @return the size in bytes
   */
  public int messageSize() {
    return messageSize;
  }

  /**
   * Returns the number of messages that can arrive before they are received.
   *
   * @return the number of receive requests
   */
  public int receives() {
    return receives;
  }

  /**
   * Returns the number of outstanding send requests.
   *
   * @return the number
   */
  public int sends() {
    return sends;
  }

  /**
   * Returns the connection parameters.
   *
   * @return the parameters
   */
  public ConnectionParameters parameters() {
    return parameters;
  }

  /**
   * Returns the private data.
   *
   * @return a copy of the bytes
   */
  public byte[] privateData() {
    return privateData.clone();
  }

  /**
   * Returns the local address.
   *
   * @return the address; empty if the routing table selects it
   */
  public Optional<InetSocketAddress> local() {
    return Optional.ofNullable(local);
  }

  /**
   * Returns the timeout of the establishment.
   *
   * @return the maximum time
   */
  public Duration timeout() {
    return timeout;
  }

  @Override
  public String toString() {
    return "messages of %d bytes, %d receive requests, %d send requests, %s, %d bytes of private data, %s, %s"
        .formatted(
            messageSize,
            receives,
            sends,
            parameters,
            privateData.length,
            local == null ? "any local address" : local,
            timeout);
  }
}
