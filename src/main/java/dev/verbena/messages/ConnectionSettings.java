package dev.verbena.messages;

import dev.verbena.RdmaException;
import dev.verbena.RdmaTimeoutException;
import dev.verbena.cm.AddressChange;
import dev.verbena.cm.ConnectionEvent;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.ConnectionOptions;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.Endpoint;
import dev.verbena.cm.EventType;
import dev.verbena.cm.Listener;
import dev.verbena.cm.PortSpace;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.Ranges;
import dev.verbena.internal.time.Time;
import dev.verbena.values.AckTimeout;
import dev.verbena.verbs.ProtectionDomain;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The settings of a {@link Connection}: its messages, its queues, and how it is established.
 *
 * {@snippet :
 * ConnectionSettings settings =
 *     ConnectionSettings.DEFAULT.withMessageSize(1 << 16).withReceives(64).withTimeout(TIMEOUT);
 * }
 */
public final class ConnectionSettings {
  /** How long to wait between attempts to connect: at first, and after twice as long each time. */
  record Reconnect(Duration first, Duration most) {}

  /** One attempt to connect. */
  @FunctionalInterface
  interface Attempt<T> {
    /** Connects an endpoint whose route is resolved; closes it if that fails. */
    T connect(Endpoint resolved, Deadline deadline) throws InterruptedException;
  }

  /** Between two attempts: a device that cannot send fails at once. */
  private static final long PAUSE = TimeUnit.MILLISECONDS.toNanos(100);

  /** The values of settings; not changed once they belong to settings. */
  private static final class Values implements Cloneable {
    private int messageSize = 4096;
    private int receives = 16;
    private int sends = 16;
    private ConnectionParameters parameters = ConnectionParameters.DEFAULT.withRnrRetryCount(6);
    private byte[] privateData = {};
    private @Nullable InetSocketAddress local;
    private Duration timeout = Duration.ofSeconds(10);
    private @Nullable AckTimeout ackTimeout;
    private int typeOfService = -1;
    private boolean reusesAddress;
    private AddressChange addressChange = AddressChange.IGNORE;
    private @Nullable Duration keepAlive;
    private Duration answer = Duration.ZERO;
    private Duration spin = Duration.ZERO;
    private long copies = 1 << 26;
    private @Nullable Reconnect reconnect;
    private boolean repeats;
    private @Nullable ProtectionDomain domain;

    Values copy() {
      try {
        return (Values) clone();
      } catch (CloneNotSupportedException e) {
        throw new AssertionError(e);
      }
    }
  }

  /** The default settings, as each method describes them. */
  public static final ConnectionSettings DEFAULT = new ConnectionSettings(new Values());

  private final Values values;

  private ConnectionSettings(Values values) {
    this.values = values;
  }

  private ConnectionSettings with(Consumer<Values> change) {
    Values changed = values.copy();
    change.accept(changed);
    return new ConnectionSettings(changed);
  }

  /**
   * {@return these settings with another maximum size of a message} The default is 4096. The
   * smaller one of both sides applies.
   *
   * @param size the size in bytes, at least 1
   */
  public ConnectionSettings withMessageSize(int size) {
    return with(v -> v.messageSize = Ranges.range("message size", size, 1, Integer.MAX_VALUE));
  }

  /**
   * {@return these settings with another number of messages that can arrive before they are
   * received} The default is 16.
   *
   * @param count the number of receive requests, each with a buffer for a message
   */
  public ConnectionSettings withReceives(int count) {
    return with(v -> v.receives = Ranges.range("number of receive requests", count, 1, 1 << 20));
  }

  /**
   * {@return these settings with another number of outstanding send requests} The default is 16.
   *
   * @param count the number of send requests, each with a buffer for a message
   */
  public ConnectionSettings withSends(int count) {
    return with(v -> v.sends = Ranges.range("number of send requests", count, 1, 1 << 20));
  }

  /**
   * {@return these settings with other connection parameters} The default is {@link
   * ConnectionParameters#DEFAULT} with an RNR retry count of 6: with 7 a sender waits without limit
   * for a remote side that does not receive.
   *
   * @param parameters the parameters
   */
  public ConnectionSettings withParameters(ConnectionParameters parameters) {
    return with(v -> v.parameters = Objects.requireNonNull(parameters, "parameters"));
  }

  /**
   * {@return these settings with private data, which is sent with the connection request or its
   * acceptance} The default is none.
   *
   * @param bytes the data: with IP addresses over RoCE at most 48 bytes to connect and 188 to
   *     accept, 8 less than an {@link Endpoint} can send
   */
  public ConnectionSettings withPrivateData(byte[] bytes) {
    return with(v -> v.privateData = bytes.clone());
  }

  /**
   * {@return these settings with a local address} By default the routing table selects it.
   *
   * @param address the local address; connecting throws {@link IllegalArgumentException} for a
   *     loopback address, which RDMA devices do not have
   */
  public ConnectionSettings withLocalAddress(InetSocketAddress address) {
    return with(v -> v.local = Objects.requireNonNull(address, "address"));
  }

  /**
   * {@return these settings with a protection domain of the program} Connections with one domain
   * share the regions that are registered in it, and do not close it. By default {@link
   * Connection#domain} is closed with the connection.
   *
   * @param domain a domain of the context that RDMA CM uses for the device ({@code Contexts.list}):
   *     otherwise establishing throws {@link IllegalArgumentException}, as {@link RequestClient}
   *     and {@link RequestServer} do, which have a domain of their own
   */
  public ConnectionSettings withDomain(ProtectionDomain domain) {
    return with(v -> v.domain = Objects.requireNonNull(domain, "domain"));
  }

  /**
   * {@return these settings with another timeout of the establishment} The default is ten seconds.
   * While a peer does not answer, connecting goes on until then: RDMA CM gives a request up after
   * 16 messages, in Linux after a minute, and another one follows.
   *
   * @param timeout the maximum time until the connection is established
   */
  public ConnectionSettings withTimeout(Duration timeout) {
    return with(v -> v.timeout = Objects.requireNonNull(timeout, "timeout"));
  }

  /**
   * {@return these settings with another local ACK timeout of the queue pair ({@code
   * RDMA_OPTION_ID_ACK_TIMEOUT})} By default RDMA CM chooses it: over RoCE Linux takes code 17, 537
   * milliseconds, so that each lost packet that no later one reveals delays the connection by half
   * a second or more. The timeout of the active side applies to both ends unless the passive side
   * sets its own.
   *
   * @param timeout the timeout
   */
  public ConnectionSettings withAckTimeout(AckTimeout timeout) {
    return with(v -> v.ackTimeout = Objects.requireNonNull(timeout, "timeout"));
  }

  /**
   * {@return these settings with a type of service of the packets ({@code RDMA_OPTION_ID_TOS}):
   * over RoCE v2 the traffic class, whose upper six bits are the DSCP} It is a setting of the
   * active side; the passive side uses the same value. By default the kernel chooses it.
   *
   * @param value the type of service, 0 to 255
   */
  public ConnectionSettings withTypeOfService(int value) {
    return with(v -> v.typeOfService = Ranges.range("type of service", value, 0, 255));
  }

  /**
   * {@return these settings with permission to use a {@linkplain #withLocalAddress local address}
   * and port that other connections of this kind use, too ({@code RDMA_OPTION_ID_REUSEADDR})} It is
   * a setting of the active side; for a listener see {@link Listener#open(PortSpace,
   * InetSocketAddress, int, Consumer)}.
   */
  public ConnectionSettings withAddressReuse() {
    return with(v -> v.reusesAddress = true);
  }

  /**
   * {@return these settings with another reaction to a change of the network interface's hardware
   * address} The default is {@link AddressChange#IGNORE}.
   *
   * @param reaction the reaction
   */
  public ConnectionSettings withAddressChange(AddressChange reaction) {
    return with(v -> v.addressChange = Objects.requireNonNull(reaction, "reaction"));
  }

  /**
   * {@return these settings with a keep-alive, which is off by default} If no message arrived and
   * no request completed for the interval, the connection writes zero bytes to the peer's memory,
   * which the peer's device acknowledges without its program. If that does not complete within the
   * same interval again, or the retry count is exhausted, the connection ends: {@link
   * Connection#receive()} and the calls of a {@link RequestClient} throw, and a {@link
   * RequestServer} frees the place of the client. Nothing is written behind a request that is
   * outstanding, such as a long RDMA read: the device retries it, as often as the retry count says.
   * A program needs no {@index heartbeat} of its own.
   *
   * @param interval the interval, at least one millisecond and at most a day
   */
  public ConnectionSettings withKeepAlive(Duration interval) {
    if (interval.compareTo(Duration.ofMillis(1)) < 0
        || interval.compareTo(Duration.ofDays(1)) > 0) {
      throw new IllegalArgumentException(
          "keep-alive interval must be one millisecond to one day: " + interval);
    }
    return withKeepAlive(interval, interval);
  }

  /** Returns these settings with a keep-alive that waits for its answer for another time. */
  ConnectionSettings withKeepAlive(Duration interval, Duration answer) {
    return with(
        v -> {
          v.keepAlive = interval;
          v.answer = answer;
        });
  }

  /** Returns how long a keep-alive waits for its answer. */
  Duration keepAliveAnswer() {
    return values.answer;
  }

  /**
   * {@return these settings with another time for which a {@link RequestClient} or a {@link
   * RequestServer} polls before it waits for a completion event} The default is zero, to wait at
   * once. Longer than an answer takes, it has the lowest latency and uses a processor.
   *
   * @param time the time, not negative
   */
  public ConnectionSettings withSpin(Duration time) {
    if (time.isNegative()) {
      throw new IllegalArgumentException("time to poll must not be negative: " + time);
    }
    return with(v -> v.spin = time);
  }

  /**
   * {@return these settings with another amount of registered memory for requests and answers that
   * are larger than a message, and are copied} A {@link RequestClient} has as much, and a {@link
   * RequestServer} twice as much: for requests and for answers. The default is 64 MiB; it is
   * allocated when it is used.
   *
   * @param bytes the number of bytes, of which a value takes the next power of two
   */
  public ConnectionSettings withCopies(long bytes) {
    return with(v -> v.copies = Ranges.positive(bytes, "memory for copies"));
  }

  /**
   * {@return these settings for a {@link RequestClient} that connects again} When the connection
   * has ended, the next call connects, as often as its timeout permits, whatever the reason of a
   * failed attempt. Calls under way fail, by an exception that is {@linkplain
   * dev.verbena.RdmaException#isTransient transient}.
   *
   * @param first the time between the first two attempts, which is doubled each time
   * @param most the maximum time between two attempts
   */
  public ConnectionSettings withReconnect(Duration first, Duration most) {
    if (!first.isPositive() || most.compareTo(first) < 0) {
      throw new IllegalArgumentException(
          "times between attempts to connect must be positive and rise: " + first + ", " + most);
    }
    return with(v -> v.reconnect = new Reconnect(first, most));
  }

  /**
   * {@return these settings for a {@link RequestClient} whose calls are sent again over the next
   * connection, if the one that they were sent over has ended} The server may execute such a call
   * twice: all calls of the client must be idempotent.
   */
  public ConnectionSettings withRepeats() {
    return with(v -> v.repeats = true);
  }

  /** {@return the maximum size of a message in bytes} */
  public int messageSize() {
    return values.messageSize;
  }

  /** {@return the number of receive requests, for messages that arrive before they are received} */
  public int receives() {
    return values.receives;
  }

  /** {@return the number of outstanding send requests} */
  public int sends() {
    return values.sends;
  }

  /** {@return the connection parameters} */
  public ConnectionParameters parameters() {
    return values.parameters;
  }

  /** {@return a copy of the private data} */
  public byte[] privateData() {
    return values.privateData.clone();
  }

  /** {@return the local address; empty if the routing table selects it} */
  public Optional<InetSocketAddress> localAddress() {
    return Optional.ofNullable(values.local);
  }

  /** {@return the timeout of the establishment} */
  public Duration timeout() {
    return values.timeout;
  }

  /** {@return the local ACK timeout; empty for that of RDMA CM} */
  public Optional<AckTimeout> ackTimeout() {
    return Optional.ofNullable(values.ackTimeout);
  }

  /** {@return the type of service, 0 to 255; empty for that of RDMA CM} */
  public OptionalInt typeOfService() {
    return values.typeOfService < 0 ? OptionalInt.empty() : OptionalInt.of(values.typeOfService);
  }

  /** {@return whether other connections may use the local address} */
  public boolean reusesAddress() {
    return values.reusesAddress;
  }

  /** {@return the reaction to a change of the network interface's hardware address} */
  public AddressChange addressChange() {
    return values.addressChange;
  }

  /** {@return the interval of the keep-alive; empty if it is off} */
  public Optional<Duration> keepAlive() {
    return Optional.ofNullable(values.keepAlive);
  }

  /** {@return the bytes of registered memory for copies of large requests and answers} */
  public long copies() {
    return values.copies;
  }

  /** {@return the protection domain of the program; empty if each connection has its own} */
  public Optional<ProtectionDomain> domain() {
    return Optional.ofNullable(values.domain);
  }

  /** {@return how long a client or server of requests polls before it waits for an event} */
  public Duration spin() {
    return values.spin;
  }

  /** Throws unless the domain is left to a client or server of requests. */
  void requireNoDomain() {
    if (values.domain != null) {
      throw new IllegalArgumentException(
          "requests cannot use another protection domain than their own, see domain():"
              + " ConnectionSettings.withDomain is for Connection");
    }
  }

  Optional<Reconnect> reconnect() {
    return Optional.ofNullable(values.reconnect);
  }

  boolean repeats() {
    return values.repeats;
  }

  /** Sets the options of an identifier of the active side, which has no address yet. */
  private void setActive(ConnectionOptions options) {
    setPassive(options);
    typeOfService().ifPresent(options::typeOfService);
    if (reusesAddress()) {
      options.reuseAddress(true);
    }
  }

  /**
   * Connects, until the timeout: by another identifier each time that RDMA CM has given up a
   * request to which no answer came.
   */
  <T> T connect(InetSocketAddress peer, Attempt<T> attempt) throws InterruptedException {
    Deadline deadline = Deadline.after(timeout());
    ConnectionException silence = null;
    for (int attempts = 1; ; attempts++) {
      try {
        Endpoint resolved =
            Endpoint.resolve(
                PortSpace.TCP,
                localAddress().orElse(null),
                peer,
                deadline.remaining(),
                this::setActive);
        return attempt.connect(resolved, deadline);
      } catch (RdmaTimeoutException e) {
        if (silence == null) {
          throw e;
        }
        RdmaTimeoutException late =
            deadline.missedBy("connecting to %s, in %d attempts".formatted(peer, attempts));
        late.addSuppressed(e);
        throw (RdmaException) late.initCause(silence);
      } catch (ConnectionException e) {
        ConnectionEvent event = e.event();
        if (event == null || event.type() != EventType.UNREACHABLE) {
          throw e;
        }
        silence = e;
        Time.sleep(Math.min(PAUSE, deadline.remainingNanos()));
      }
    }
  }

  /** Sets the options of an identifier of the passive side, which has its path. */
  void setPassive(ConnectionOptions options) {
    ackTimeout().ifPresent(options::ackTimeout);
  }

  /** Explains that there is not enough memory for the messages. */
  OutOfMemoryError tooLarge(OutOfMemoryError cause) {
    return (OutOfMemoryError)
        new OutOfMemoryError(
                ("no memory for %d receives and %d sends with a message size of %d bytes"
                        + " (ConnectionSettings.withReceives, withSends, withMessageSize): %s")
                    .formatted(receives(), sends(), messageSize(), cause.getMessage()))
            .initCause(cause);
  }

  @Override
  public String toString() {
    StringBuilder text =
        new StringBuilder(
            "messages of %d bytes, %d receive requests, %d send requests, %s, %d bytes of private data, %s, %s"
                .formatted(
                    messageSize(),
                    receives(),
                    sends(),
                    parameters(),
                    values.privateData.length,
                    values.local == null ? "any local address" : values.local,
                    timeout()));
    ackTimeout().ifPresent(ack -> text.append(", ").append(ack));
    typeOfService().ifPresent(tos -> text.append(", type of service ").append(tos));
    if (reusesAddress()) {
      text.append(", reuse of the address");
    }
    if (addressChange() == AddressChange.END) {
      text.append(", end at a change of the address");
    }
    keepAlive().ifPresent(interval -> text.append(", keep-alive ").append(interval));
    domain().ifPresent(shared -> text.append(", ").append(shared));
    return text.toString();
  }
}
