package dev.verbena.packet;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.attributes.DeviceAttributes;
import dev.verbena.attributes.PortState;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.Port;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import java.util.Objects;

/**
 * A builder of a packet port. The defaults are the minimum: one send and one receive request with
 * one SGE each. {@link PacketPort#DEVICE_MAXIMUM} selects the maximum of the device; the actual
 * values are those of the capacities of the queue pair and the completion queues.
 */
public final class PacketPortBuilder {
  private final Device device;
  private final int number;
  private boolean allowInactive;
  private int sends = 1;
  private int receives = 1;
  private int sendSges = 1;
  private int receiveSges = 1;
  private int inlineData;
  private int sendCompletions;
  private int receiveCompletions;
  private int vector;
  private CompletionNotification sendNotification = CompletionNotification.ANY;
  private CompletionNotification receiveNotification = CompletionNotification.ANY;
  private QueuePairType type = QueuePairType.RAW_PACKET;

  PacketPortBuilder(Device device, int number) {
    this.device = Objects.requireNonNull(device, "device");
    this.number = number;
  }

  private static int checked(int number, int least, String what) {
    if (number < least && number != PacketPort.DEVICE_MAXIMUM) {
      throw new IllegalArgumentException(
          "number of " + what + " must be at least " + least + ", or DEVICE_MAXIMUM: " + number);
    }
    return number;
  }

  /**
   * Also opens a port that is not active.
   *
   * @return this
   */
  public PacketPortBuilder allowInactive() {
    this.allowInactive = true;
    return this;
  }

  /**
   * Sets the maximum number of outstanding send requests.
   *
   * @param requests a number, or {@link PacketPort#DEVICE_MAXIMUM}
   * @return this
   */
  public PacketPortBuilder sends(int requests) {
    this.sends = checked(requests, 0, "send requests");
    return this;
  }

  /**
   * Sets the maximum number of outstanding receive requests.
   *
   * @param requests a number, or {@link PacketPort#DEVICE_MAXIMUM}
   * @return this
   */
  public PacketPortBuilder receives(int requests) {
    this.receives = checked(requests, 0, "receive requests");
    return this;
  }

  /**
   * Sets the maximum number of SGEs of each send request, one for each fragment of a packet. The
   * default is 1.
   *
   * @param sges a number, or {@link PacketPort#DEVICE_MAXIMUM}
   * @return this
   */
  public PacketPortBuilder sendSges(int sges) {
    this.sendSges = checked(sges, 0, "SGEs of a send request");
    return this;
  }

  /**
   * Sets the maximum number of SGEs of each receive request, one for each fragment of a packet. The
   * default is 1.
   *
   * @param sges a number, or {@link PacketPort#DEVICE_MAXIMUM}
   * @return this
   */
  public PacketPortBuilder receiveSges(int sges) {
    this.receiveSges = checked(sges, 0, "SGEs of a receive request");
    return this;
  }

  /**
   * Sets the capacity of the completion queue of the send requests. The default is their maximum
   * number.
   *
   * @param capacity a number, or {@link PacketPort#DEVICE_MAXIMUM}
   * @return this
   */
  public PacketPortBuilder sendCompletions(int capacity) {
    this.sendCompletions = checked(capacity, 1, "completions of send requests");
    return this;
  }

  /**
   * Sets the capacity of the completion queue of the receive requests. The default is their maximum
   * number.
   *
   * @param capacity a number, or {@link PacketPort#DEVICE_MAXIMUM}
   * @return this
   */
  public PacketPortBuilder receiveCompletions(int capacity) {
    this.receiveCompletions = checked(capacity, 1, "completions of receive requests");
    return this;
  }

  /**
   * Sets the completions for which the completion queue of the send requests generates its first
   * completion event. The default is any completion. {@link PacketPort#awaitSent} requests
   * notifications itself: this is for programs that wait on a completion channel.
   *
   * @param notification the completions
   * @return this
   */
  public PacketPortBuilder sendNotification(CompletionNotification notification) {
    this.sendNotification = Objects.requireNonNull(notification, "notification");
    return this;
  }

  /**
   * Sets the completions for which the completion queue of the receive requests generates its first
   * completion event. The default is any completion. {@link PacketPort#awaitReceived} requests
   * notifications itself: this is for programs that wait on a completion channel.
   *
   * @param notification the completions
   * @return this
   */
  public PacketPortBuilder receiveNotification(CompletionNotification notification) {
    this.receiveNotification = Objects.requireNonNull(notification, "notification");
    return this;
  }

  /**
   * Sets the completion vector. The default is 0.
   *
   * @param vector the vector, 0 to {@link Context#completionVectors} - 1
   * @return this
   */
  public PacketPortBuilder vector(int vector) {
    this.vector = vector;
    return this;
  }

  /**
   * Sets the maximum size of inline data. The default is 0.
   *
   * @param size the size in bytes
   * @return this
   */
  public PacketPortBuilder inlineData(int size) {
    this.inlineData = size;
    return this;
  }

  /**
   * Sets the type of the queue pair. The default is RAW_PACKET; UD is useful for tests on devices
   * without raw packets.
   *
   * @param type an unconnected type
   * @return this
   */
  public PacketPortBuilder type(QueuePairType type) {
    if (type != QueuePairType.RAW_PACKET && type != QueuePairType.UD) {
      throw new IllegalArgumentException(type + " queue pairs are connected: use RAW_PACKET or UD");
    }
    this.type = type;
    return this;
  }

  /**
   * Opens the device and creates the objects of the port. The queue pair is in state INIT.
   *
   * @return the port, to be closed
   * @throws IllegalStateException if the port is not active
   * @throws VerbsException if the device does not support raw packets, or the process has no
   *     permission
   */
  public PacketPort open() {
    Context context = device.open();
    try {
      return open(context);
    } catch (RuntimeException e) {
      try {
        context.close();
      } catch (RuntimeException closing) {
        e.addSuppressed(closing);
      }
      throw e;
    }
  }

  private PacketPort open(Context context) {
    Port port = context.port(number);
    requireActive(port);
    DeviceAttributes limits = context.deviceAttributes();
    QueuePairCapacity capacity =
        QueuePairCapacity.of(0)
            .withSendRequests(real(sends, limits.maxQueuePairRequests()))
            .withReceiveRequests(real(receives, limits.maxQueuePairRequests()))
            .withSendSges(real(sendSges, limits.maxSges()))
            .withReceiveSges(real(receiveSges, limits.maxSges()))
            .withMaxInlineData(inlineData);
    ProtectionDomain domain = context.allocateProtectionDomain();
    CompletionQueue sendQueue = queue(context, limits, sendCompletions, capacity.sendRequests());
    CompletionQueue receiveQueue =
        queue(context, limits, receiveCompletions, capacity.receiveRequests());
    QueuePair queuePair = queuePair(domain, sendQueue, receiveQueue, capacity);
    queuePair.setup().port(number).init();
    request(sendNotification, sendQueue);
    request(receiveNotification, receiveQueue);
    return new PacketPort(port, queuePair, sendQueue, receiveQueue);
  }

  private void requireActive(Port port) {
    PortState state = port.attributes().state();
    if (!allowInactive && state != PortState.ACTIVE) {
      throw new IllegalStateException(
          "port %d of %s is not active but %s: set its network interface up, or call allowInactive()"
              .formatted(number, device, state.text()));
    }
  }

  private static int real(int asked, int maximum) {
    return asked == PacketPort.DEVICE_MAXIMUM ? maximum : asked;
  }

  private CompletionQueue queue(
      Context context, DeviceAttributes limits, int entries, int requests) {
    CompletionChannel channel = context.createCompletionChannel();
    return entries == PacketPort.DEVICE_MAXIMUM
        ? largestQueue(channel, limits.maxCompletionQueueEntries())
        : queue(channel, entries == 0 ? Math.max(1, requests) : entries);
  }

  private CompletionQueue queue(CompletionChannel channel, int entries) {
    return channel.context().completionQueue(entries).vector(vector).channel(channel).create();
  }

  /**
   * Creates the largest queue for which there is memory: the maximum that devices report may exceed
   * it.
   */
  private CompletionQueue largestQueue(CompletionChannel channel, int maximum) {
    for (int entries = maximum; ; entries /= 2) {
      try {
        return queue(channel, entries);
      } catch (VerbsException e) {
        if (e.errno() != Errno.ENOMEM || entries < 2) {
          throw e;
        }
      }
    }
  }

  private QueuePair queuePair(
      ProtectionDomain domain,
      CompletionQueue sendQueue,
      CompletionQueue receiveQueue,
      QueuePairCapacity capacity) {
    try {
      return QueuePair.builder(domain, type)
          .sendCompletions(sendQueue)
          .receiveCompletions(receiveQueue)
          .capacity(capacity)
          .create();
    } catch (VerbsException e) {
      throw type == QueuePairType.RAW_PACKET ? explained(e) : e;
    }
  }

  private VerbsException explained(VerbsException e) {
    if (!e.isUnsupported() && e.errno() != Errno.EPERM) {
      return e;
    }
    String why =
        e.isUnsupported()
            ? device
                + " does not support raw packets: adapters of mlx5 and mlx4 and software devices of"
                + " dev.verbena.soft do, Soft-RoCE does not"
            : "run as root, or with CAP_NET_RAW as an ambient capability";
    VerbsException explained =
        new VerbsException(e.function(), e.errno(), why + "; " + e.details());
    explained.initCause(e);
    return explained;
  }

  private static void request(CompletionNotification notification, CompletionQueue queue) {
    switch (notification) {
      case NONE -> {}
      case SOLICITED -> queue.requestSolicitedNotification();
      case ANY -> queue.requestNotification();
    }
  }
}
