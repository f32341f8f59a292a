package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.NativeFlag;
import dev.verbena.VerbsException;
import dev.verbena.internal.Codes;
import dev.verbena.internal.calls.QueuePairCalls;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.host.Linking;
import dev.verbena.internal.jfr.FlightEvents;
import dev.verbena.internal.life.ObjectText;
import dev.verbena.raw.ibv_qp;
import dev.verbena.raw.ibv_qp_attr;
import dev.verbena.raw.ibv_qp_init_attr;
import dev.verbena.values.AsyncEventType;
import dev.verbena.values.QueuePairAttribute;
import dev.verbena.values.QueuePairAttributes;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.EnumSet;
import java.util.Set;

/**
 * The state and the attributes of a queue pair: changes them by {@code ibv_modify_qp}, and returns
 * them by {@code ibv_query_qp}.
 */
final class Transitions {
  private static final long STATE = ibv_qp.state$offset();

  /** What {@code ibv_query_qp} returns of a DC target; it fails if it is asked for more. */
  private static final Set<QueuePairAttribute> OF_TARGETS =
      Set.of(
          QueuePairAttribute.STATE,
          QueuePairAttribute.ACCESS_FLAGS,
          QueuePairAttribute.PKEY_INDEX,
          QueuePairAttribute.PORT,
          QueuePairAttribute.AV,
          QueuePairAttribute.PATH_MTU,
          QueuePairAttribute.MIN_RNR_TIMER);

  private final QueuePair queuePair;
  private final QueuePairCalls calls;

  /** Whether the asynchronous event was read. */
  private volatile boolean isLastWqeReached;

  Transitions(QueuePair queuePair, QueuePairCalls calls) {
    this.queuePair = queuePair;
    this.calls = calls;
  }

  /** Changes all attributes or none. */
  void modify(QueuePairAttributes attributes) {
    QueuePairState to =
        attributes.mask().contains(QueuePairAttribute.STATE) ? attributes.state() : null;
    if (to == QueuePairState.RESET) {
      queuePair.requireNoCursor("resetting " + queuePair);
      requireResettable();
    }
    QueuePairType type = queuePair.type();
    VerbsException failure = null;
    Object begun = to == null ? null : FlightEvents.beginTransition();
    QueuePairState from = begun == null ? null : stored();
    try {
      queuePair.core.whileOpen(() -> modify(attributes, to));
      if (type == QueuePairType.DC_TARGET) {
        queuePair.readNumber();
      }
    } catch (VerbsException e) {
      failure = e;
      throw new ModifyFailure(queuePair, attributes).explain(e);
    } finally {
      FlightEvents.endTransition(
          begun, queuePair.context().device(), queuePair.number(), type, from, to, failure);
      Reference.reachabilityFence(attributes); // It owns the struct that C reads.
    }
    if (to == QueuePairState.RESET) {
      isLastWqeReached = false;
      queuePair.setup().renew();
    }
  }

  void happened(AsyncEventType event) {
    if (event == AsyncEventType.QP_LAST_WQE_REACHED) {
      isLastWqeReached = true;
    }
  }

  boolean isLastWqeReached() {
    return isLastWqeReached;
  }

  private void modify(QueuePairAttributes attributes, QueuePairState to) {
    int mask = (int) NativeFlag.mask(attributes.mask());
    queuePair
        .context()
        .verbs()
        .ibv_modify_qp(queuePair.address(), attributes.segment().address(), mask);
    if (to == QueuePairState.RESET) {
      calls.wasReset();
    }
  }

  /**
   * Throws for libefa, which forgets its outstanding requests in state RESET: if their completions
   * are polled afterwards, it writes outside its memory, and posts more than the queue holds. Also
   * for SRD on a software device, as a program that does it would not run on an EFA.
   */
  private void requireResettable() {
    if (stored() != QueuePairState.RESET
        && (queuePair.type() == QueuePairType.SRD
            || Linking.driver(queuePair.context().device().sysfsPath()).equals("efa"))) {
      throw new IllegalStateException(
          queuePair
              + " cannot be reset, as libefa would write outside its memory when completions of"
              + " earlier requests are polled: close it and create another one");
    }
  }

  /** The kernel queries a DC target in state RTR only: its state is that of the last transition. */
  QueuePairState state() {
    if (queuePair.type() == QueuePairType.DC_TARGET) {
      return queuePair.core.whileOpen(this::stored);
    }
    return query(Set.of(QueuePairAttribute.STATE)).state();
  }

  /** Returns all attributes that {@code ibv_query_qp} has. */
  QueuePairAttributes query() {
    if (queuePair.type() == QueuePairType.DC_TARGET) {
      return query(OF_TARGETS);
    }
    EnumSet<QueuePairAttribute> all = EnumSet.allOf(QueuePairAttribute.class);
    all.remove(QueuePairAttribute.RATE_LIMIT);
    return query(all);
  }

  QueuePairAttributes query(Set<QueuePairAttribute> wanted) {
    if (queuePair.type() == QueuePairType.DC_TARGET && state() != QueuePairState.RTR) {
      throw new IllegalStateException(
          "%s is in state %s; the kernel queries a DC target in state RTR only"
              .formatted(queuePair, state()));
    }
    int mask = (int) NativeFlag.mask(wanted);
    MemorySegment attr = ibv_qp_attr.allocate(Arena.ofAuto());
    try (Arena arena = Arena.ofConfined()) {
      long initAttr = ibv_qp_init_attr.allocate(arena).address();
      queuePair.core.whileOpen(
          () ->
              queuePair
                  .context()
                  .verbs()
                  .ibv_query_qp(queuePair.address(), attr.address(), mask, initAttr));
    }
    return QueuePairAttributes.copyOf(attr, mask);
  }

  /**
   * Distinguishes work requests that were posted too early from those that do not fit into the
   * queue. Providers return different errors for the former, and libmlx5 reports a full queue, for
   * which a caller would wait forever. Does not query the device, and does not allocate: a full
   * queue is not an exception.
   *
   * @param needed the first state that allows such work requests
   * @param function the C function that was called
   * @param errno its result
   */
  void requireReached(QueuePairState needed, String function, int errno) {
    if (storedCode() < needed.code()) {
      throw new IllegalStateException(
          "%s is in state %s, posting requires state %s (%s: %s)"
              .formatted(queuePair, stored(), needed, function, Errno.name(errno)));
    }
  }

  /** Returns the string of the queue pair. */
  String text() {
    QueuePairCapacity capacity = queuePair.capacity();
    return ObjectText.of(
        queuePair.core,
        "queue pair 0x%x of %s".formatted(queuePair.number(), queuePair.context().device()),
        queuePair.type(),
        ObjectText.ifOpen(queuePair.core, this::stored),
        capacity.sendRequests() + " send and " + capacity.receiveRequests() + " receive requests");
  }

  /** Returns the state that {@code ibv_modify_qp} stores, which is not queried from the device. */
  private QueuePairState stored() {
    return Codes.of(QueuePairState.class, storedCode(), QueuePairState.UNKNOWN);
  }

  private int storedCode() {
    return Memory.getInt(queuePair.address() + STATE);
  }
}
