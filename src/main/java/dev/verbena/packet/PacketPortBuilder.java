package dev.verbena.packet;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.DeviceAttributes;
import dev.verbena.verbs.Port;
import dev.verbena.verbs.PortState;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairCapacity;
import dev.verbena.verbs.QueuePairType;
import java.util.Objects;

/**
 * What can be asked for when a port is opened for packets. By default that is the least: room for
 * one send and one receive of one entry each. {@link PacketPort#DEVICE_MAXIMUM} stands for what the
 * device can do; what was given is to be read from the queue pair's capacity and from those of the
 * completion queues.
 */
public final class PacketPortBuilder {
  private final Device device;
  private final int number;
  private boolean inactiveToo;
  private int sends = 1;
  private int receives = 1;
  private int sendEntries = 1;
  private int receiveEntries = 1;
  private int inlineData;
  private int sendCompletions;
  private int receiveCompletions;
  private int vector;
  private Announcement ofSends = Announcement.ANY;
  private Announcement ofReceives = Announcement.ANY;
  private QueuePairType type = QueuePairType.RAW_PACKET;

  PacketPortBuilder(Device device, int number) {
    this.device = Objects.requireNonNull(device, "device");
    this.number = number;
  }

  private static int checked(int number, int least, String what) {
    if (number < least && number != PacketPort.DEVICE_MAXIMUM) {
      throw new IllegalArgumentException(number + " " + what);
    }
    return number;
  }

  /**
   * Opens a port that is not active too, which is refused otherwise.
   *
   * @return this
   */
  public PacketPortBuilder inactiveToo() {
    this.inactiveToo = true;
    return this;
  }

  /**
   * How many sends may be under way.
   *
   * @param requests a number, or {@link PacketPort#DEVICE_MAXIMUM}
   * @return this
   */
  public PacketPortBuilder sends(int requests) {
    this.sends = checked(requests, 0, "sends");
    return this;
  }

  /**
   * How many receives may be posted.
   *
   * @param requests a number, or {@link PacketPort#DEVICE_MAXIMUM}
   * @return this
   */
  public PacketPortBuilder receives(int requests) {
    this.receives = checked(requests, 0, "receives");
    return this;
  }

  /**
   * Of how many fragments a packet may be made.
   *
   * @param ofSend entries of a send, or {@link PacketPort#DEVICE_MAXIMUM}
   * @param ofReceive entries of a receive, or {@link PacketPort#DEVICE_MAXIMUM}
   * @return this
   */
  public PacketPortBuilder entries(int ofSend, int ofReceive) {
    this.sendEntries = checked(ofSend, 0, "entries of a send");
    this.receiveEntries = checked(ofReceive, 0, "entries of a receive");
    return this;
  }

  /**
   * How many completions may wait to be polled; by default as many as there are requests.
   *
   * @param ofSends a number, or {@link PacketPort#DEVICE_MAXIMUM}
   * @param ofReceives a number, or {@link PacketPort#DEVICE_MAXIMUM}
   * @return this
   */
  public PacketPortBuilder completions(int ofSends, int ofReceives) {
    this.sendCompletions = checked(ofSends, 1, "completions of sends");
    this.receiveCompletions = checked(ofReceives, 1, "completions of receives");
    return this;
  }

  /**
   * What the queues announce on their channels once the port is open; by default the first
   * completion. {@link PacketPort#awaitReceived} and {@link PacketPort#awaitSent} ask for
   * announcements themselves: this is for who waits on a channel.
   *
   * @param sends of the queue for sends
   * @param receives of the queue for receives
   * @return this
   */
  public PacketPortBuilder announce(Announcement sends, Announcement receives) {
    this.ofSends = Objects.requireNonNull(sends, "sends");
    this.ofReceives = Objects.requireNonNull(receives, "receives");
    return this;
  }

  /**
   * Chooses the processor that is told of completions, as the device counts. For experts.
   *
   * @param vector from 0, which is the default, to {@link Context#completionVectors} - 1
   * @return this
   */
  public PacketPortBuilder vector(int vector) {
    this.vector = vector;
    return this;
  }

  /**
   * How many bytes of a send may be copied into it. For experts.
   *
   * @param size 0 by default
   * @return this
   */
  public PacketPortBuilder inlineData(int size) {
    this.inlineData = size;
    return this;
  }

  /**
   * Chooses another type of queue pair. For experts: datagrams work alike on devices without raw
   * packets, which is good for tests.
   *
   * @param type one without a single peer
   * @return this
   */
  public PacketPortBuilder type(QueuePairType type) {
    if (type != QueuePairType.RAW_PACKET && type != QueuePairType.UD) {
      throw new IllegalArgumentException(type + " queue pairs carry no packets");
    }
    this.type = type;
    return this;
  }

  /**
   * Opens the device and makes all that it takes. The queue pair is in state INIT then.
   *
   * @return the port, to be closed
   * @throws IllegalStateException if the port is not active
   * @throws VerbsException if the device has no raw packets, or the process may not have them
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
            .withSendSges(real(sendEntries, limits.maxScatterGatherEntries()))
            .withReceiveSges(real(receiveEntries, limits.maxScatterGatherEntries()))
            .withMaxInlineData(inlineData);
    ProtectionDomain domain = context.allocateProtectionDomain();
    CompletionQueue sendQueue = queue(context, limits, sendCompletions, capacity.sendRequests());
    CompletionQueue receiveQueue =
        queue(context, limits, receiveCompletions, capacity.receiveRequests());
    QueuePair queuePair = queuePair(domain, sendQueue, receiveQueue, capacity);
    queuePair.setup().port(number).init();
    announce(sendQueue, ofSends);
    announce(receiveQueue, ofReceives);
    return new PacketPort(port, queuePair, sendQueue, receiveQueue);
  }

  private void requireActive(Port port) {
    PortState state = port.attributes().state();
    if (!inactiveToo && state != PortState.ACTIVE) {
      throw new IllegalStateException(
          "port %d of %s is not active but %s: set its network interface up, or ask for inactive ports too"
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

  /** The largest queue for which there is memory: devices promise more than they can get. */
  private CompletionQueue largestQueue(CompletionChannel channel, int promised) {
    for (int entries = promised; ; entries /= 2) {
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
      return domain
          .queuePair(type)
          .sendCompletions(sendQueue)
          .receiveCompletions(receiveQueue)
          .capacity(capacity)
          .create();
    } catch (VerbsException e) {
      throw type == QueuePairType.RAW_PACKET ? explained(e) : e;
    }
  }

  private VerbsException explained(VerbsException e) {
    if (e.isUnsupported()) {
      return e.explained(
          device
              + " has no raw packets: adapters of mlx5 and mlx4 have, software devices have not");
    }
    return e.errno() == Errno.EPERM
        ? e.explained("be root, or have CAP_NET_RAW as an ambient capability")
        : e;
  }

  private static void announce(CompletionQueue queue, Announcement announcement) {
    switch (announcement) {
      case NONE -> {}
      case SOLICITED -> queue.requestSolicitedNotification();
      case ANY -> queue.requestNotification();
    }
  }
}
