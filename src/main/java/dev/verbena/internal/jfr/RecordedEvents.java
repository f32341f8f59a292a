package dev.verbena.internal.jfr;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Threshold;
import org.jspecify.annotations.Nullable;

/**
 * The events of Flight Recorder. Methods take an {@code Object} so that {@link FlightEvents}, which
 * calls them, can be linked without the module {@code jdk.jfr}.
 */
final class RecordedEvents {
  private RecordedEvents() {}

  /** Returns an event; null if it is not recorded. */
  static @Nullable Object enabled(Object event) {
    return ((Event) event).isEnabled() ? event : null;
  }

  /** Begins an event, and returns it; null if it is not recorded. */
  static @Nullable Object begun(Object event) {
    if (enabled(event) != null) {
      ((Event) event).begin();
    }
    return enabled(event);
  }

  /** Ends an event that was begun, and returns whether it is to be committed. */
  static boolean isDue(Object event) {
    ((Event) event).end();
    return ((Event) event).shouldCommit();
  }

  /** A call of C outside the data path. */
  @Name("dev.verbena.ControlCall")
  @Label("Control Call")
  @Category("RDMA")
  @Description("A call of libibverbs or librdmacm outside the data path that took long")
  @Threshold("10 ms")
  static final class ControlCall extends Event {
    @Label("Function")
    String function;

    @Label("Failure")
    String failure;
  }

  /** The registration of memory. */
  @Name("dev.verbena.MemoryRegistration")
  @Label("Memory Registration")
  @Category("RDMA")
  @Description("Memory was registered with a protection domain: ibv_reg_mr")
  static final class MemoryRegistration extends Event {
    @Label("Device")
    String device;

    @Label("Length")
    @DataAmount
    long length;

    @Label("Access Flags")
    String access;

    @Label("Failure")
    String failure;
  }

  /** A state transition of a queue pair that this library requested. */
  @Name("dev.verbena.QueuePairTransition")
  @Label("Queue Pair Transition")
  @Category("RDMA")
  @Description("The state of a queue pair was modified: ibv_modify_qp")
  static final class QueuePairTransition extends Event {
    @Label("Device")
    String device;

    @Label("Queue Pair Number")
    int queuePair;

    @Label("Type")
    String type;

    @Label("From")
    @Description("The state that libibverbs stored at the previous transition")
    String from;

    @Label("To")
    String to;

    @Label("Failure")
    String failure;
  }

  /** A thread that waited for an event of a channel. */
  @Name("dev.verbena.ChannelWait")
  @Label("Channel Wait")
  @Category("RDMA")
  @Description(
      "A thread waited for a completion event, a connection event or an asynchronous event")
  @Threshold("20 ms")
  static final class ChannelWait extends Event {
    @Label("Channel")
    String channel;

    @Label("Found")
    @Description(
        "Whether the wait ended with an event; otherwise a timeout, an interrupt or a close")
    boolean found;
  }

  /** An asynchronous event of a device. */
  @Name("dev.verbena.AsynchronousEvent")
  @Label("Asynchronous Event")
  @Category("RDMA")
  @Description("An asynchronous event of a device was read: ibv_get_async_event")
  @StackTrace(false)
  static final class Asynchronous extends Event {
    @Label("Device")
    String device;

    @Label("Type")
    String type;

    @Label("Object")
    @Description("What the event concerns")
    String object;
  }

  /** A connection that is set up. */
  @Name("dev.verbena.ConnectionEstablished")
  @Label("Connection Established")
  @Category("RDMA")
  @Description("A connection of the RDMA CM is set up")
  @StackTrace(false)
  static final class ConnectionEstablished extends Event {
    @Label("Connection")
    String connection;

    @Label("Queue Pair")
    String queuePair;
  }

  /** A connection that has ended, or that could not be set up. */
  @Name("dev.verbena.ConnectionEnded")
  @Label("Connection Ended")
  @Category("RDMA")
  @Description("A connection of the RDMA CM has ended, or could not be set up")
  @StackTrace(false)
  static final class ConnectionEnded extends Event {
    @Label("Connection")
    String connection;

    @Label("Event")
    @Description("The event of the RDMA CM, without RDMA_CM_EVENT_")
    String event;

    @Label("Status")
    @Description("The status of the event: 0, a negative errno, or the reason of a rejection")
    int status;

    @Label("Reason")
    String reason;
  }

  /** The transport that a channel of the provider for a whole JVM uses. */
  @Name("dev.verbena.SocketTransport")
  @Label("Socket Transport")
  @Category("RDMA")
  @Description("A socket channel or a listener of HybridSelectorProvider uses RDMA or TCP")
  @StackTrace(false)
  static final class SocketTransport extends Event {
    @Label("Channel")
    String channel;

    @Label("Address")
    @Description("The address of the peer, or the local one of a listener")
    String address;

    @Label("Transport")
    String transport;

    @Label("Reason")
    @Description("The rule, and why RDMA was not used if the rule permits it")
    String reason;
  }
}
