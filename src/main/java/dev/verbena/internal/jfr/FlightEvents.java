package dev.verbena.internal.jfr;

import dev.verbena.VerbsException;
import java.util.Set;
import java.util.stream.Collectors;
import jdk.jfr.FlightRecorder;

/**
 * Records what happens as events of JDK Flight Recorder. Where the module {@code jdk.jfr} is
 * absent, or no recording has the event enabled, the methods do nothing.
 *
 * <p>An event with a duration takes two calls: {@code begin...} before and {@code end...} after.
 * The object that passes from one to the other is null if the event is not recorded.
 */
public final class FlightEvents {
  private static final boolean PRESENT = isPresent();

  private FlightEvents() {}

  /**
   * Returns whether there is, or was, a recording in this JVM. The first event of a class registers
   * it, which initializes much of Flight Recorder: tens of milliseconds of start-up time.
   */
  private static boolean isActive() {
    return PRESENT && FlightRecorder.isInitialized();
  }

  private static boolean isPresent() {
    try {
      Class.forName("jdk.jfr.Event", false, FlightEvents.class.getClassLoader());
      return true;
    } catch (ClassNotFoundException e) {
      return false;
    }
  }

  /** Begins a control call of C; the result is for {@link #endCall}. */
  public static Object beginCall() {
    return isActive() ? RecordedEvents.begun(new RecordedEvents.ControlCall()) : null;
  }

  /** Ends a control call; the failure is null if there is none. */
  public static void endCall(Object begun, String function, Throwable failure) {
    if (begun != null && RecordedEvents.isDue(begun)) {
      RecordedEvents.ControlCall event = (RecordedEvents.ControlCall) begun;
      event.function = function;
      event.failure = describe(failure);
      event.commit();
    }
  }

  /** Begins the registration of memory; the result is for {@link #endRegistration}. */
  public static Object beginRegistration() {
    return isActive() ? RecordedEvents.begun(new RecordedEvents.MemoryRegistration()) : null;
  }

  /** Ends the registration of memory; the failure is null if there is none. */
  public static void endRegistration(
      Object begun,
      Object device,
      long length,
      Set<? extends Enum<?>> access,
      VerbsException failure) {
    if (begun != null && RecordedEvents.isDue(begun)) {
      RecordedEvents.MemoryRegistration event = (RecordedEvents.MemoryRegistration) begun;
      event.device = device.toString();
      event.length = length;
      event.access = access.stream().map(Enum::name).sorted().collect(Collectors.joining(" "));
      event.failure = describe(failure);
      event.commit();
    }
  }

  /** Begins a state transition of a queue pair; the result is for {@link #endTransition}. */
  public static Object beginTransition() {
    return isActive() ? RecordedEvents.begun(new RecordedEvents.QueuePairTransition()) : null;
  }

  /** Ends a state transition of a queue pair; the failure is null if there is none. */
  public static void endTransition(
      Object begun,
      Object device,
      int number,
      Object type,
      Object from,
      Object to,
      VerbsException failure) {
    if (begun != null && RecordedEvents.isDue(begun)) {
      RecordedEvents.QueuePairTransition event = (RecordedEvents.QueuePairTransition) begun;
      event.device = device.toString();
      event.queuePair = number;
      event.type = type.toString();
      event.from = from.toString();
      event.to = to.toString();
      event.failure = describe(failure);
      event.commit();
    }
  }

  /** Begins a wait for an event of a channel; the result is for {@link #endWait}. */
  public static Object beginWait() {
    return isActive() ? RecordedEvents.begun(new RecordedEvents.ChannelWait()) : null;
  }

  /** Ends a wait for an event of a channel, which found one or not. */
  public static void endWait(Object begun, Object channel, boolean found) {
    if (begun != null && RecordedEvents.isDue(begun)) {
      RecordedEvents.ChannelWait event = (RecordedEvents.ChannelWait) begun;
      event.channel = ObjectName.of(channel);
      event.found = found;
      event.commit();
    }
  }

  /** Records an asynchronous event, and the object that it concerns. */
  public static void asynchronous(Object device, Object type, Object object) {
    if (isActive()
        && RecordedEvents.enabled(new RecordedEvents.Asynchronous())
            instanceof RecordedEvents.Asynchronous recorded) {
      recorded.device = device.toString();
      recorded.type = type.toString();
      recorded.object = ObjectName.of(object);
      recorded.commit();
    }
  }

  /** Records that a connection is set up; the queue pair is null if it is not known. */
  public static void connected(Object id, Object queuePair) {
    if (isActive()
        && RecordedEvents.enabled(new RecordedEvents.ConnectionEstablished())
            instanceof RecordedEvents.ConnectionEstablished recorded) {
      recorded.connection = ObjectName.of(id);
      recorded.queuePair = queuePair == null ? null : ObjectName.of(queuePair);
      recorded.commit();
    }
  }

  /**
   * Records that a connection has ended, or could not be set up: the type and the status of the
   * event that reported it, and the reason in words.
   */
  public static void ended(Object id, Object event, int status, String reason) {
    if (isActive()
        && RecordedEvents.enabled(new RecordedEvents.ConnectionEnded())
            instanceof RecordedEvents.ConnectionEnded recorded) {
      recorded.connection = ObjectName.of(id);
      recorded.event = event.toString();
      recorded.status = status;
      recorded.reason = reason;
      recorded.commit();
    }
  }

  /**
   * Records which transport a channel uses and why. The address is that of the peer, or the local
   * one of a listener.
   */
  public static void transport(String channel, Object address, String transport, String reason) {
    if (isActive()
        && RecordedEvents.enabled(new RecordedEvents.SocketTransport())
            instanceof RecordedEvents.SocketTransport recorded) {
      recorded.channel = channel;
      recorded.address = address.toString();
      recorded.transport = transport;
      recorded.reason = reason;
      recorded.commit();
    }
  }

  /**
   * Returns whether {@link #failedCompletion} does anything: the data path then looks for failures.
   */
  public static boolean recordsFailedCompletions() {
    return isActive() && FailedCompletionEvent.isRecorded();
  }

  /** Records a failed work completion, unless many were recorded within the same second. */
  public static void failedCompletion(
      Object queue, int queuePair, long id, Object status, int vendorError) {
    if (isActive()) {
      FailedCompletionEvent.record(queue, queuePair, id, status, vendorError);
    }
  }

  /**
   * Calls a hook in each period of the event of counters, as long as a recording has it enabled;
   * returns whether that is possible.
   */
  public static boolean addCounters(Runnable hook) {
    if (PRESENT) {
      FlightRecorder.addPeriodicEvent(CounterEvent.class, hook);
    }
    return PRESENT;
  }

  /** Ends the calls of a hook. */
  public static void removeCounters(Runnable hook) {
    boolean _ = PRESENT && FlightRecorder.removePeriodicEvent(hook);
  }

  /** Records the value of a counter. */
  public static void counter(String device, String counter, long value) {
    CounterEvent event = new CounterEvent();
    event.device = device;
    event.counter = counter;
    event.value = value;
    event.commit();
  }

  private static String describe(Throwable failure) {
    return failure == null ? null : failure.getMessage();
  }
}
