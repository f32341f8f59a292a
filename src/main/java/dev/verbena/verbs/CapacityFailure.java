package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.attributes.DeviceAttributes;
import dev.verbena.internal.Explanation;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import java.util.StringJoiner;

/**
 * Determines why a queue pair could not be created, for which {@code ibv_create_qp} only returns
 * EINVAL or ENOMEM.
 */
final class CapacityFailure {
  private CapacityFailure() {}

  /** Adds the likely cause to the failure. */
  static VerbsException explain(
      VerbsException failure, Context context, QueuePairType type, QueuePairCapacity capacity) {
    String asked = "a queue pair of type " + type + " on " + context.device();
    return Explanation.add(
        failure,
        switch (failure.errno()) {
          case Errno.EOPNOTSUPP, Errno.ENOSYS -> asked + " is not supported";
          case Errno.EPERM -> asked + " requires the capability CAP_NET_RAW";
          case Errno.EINVAL, Errno.ENOMEM -> asked + ": " + excess(context, capacity);
          default -> asked;
        });
  }

  private static String excess(Context context, QueuePairCapacity capacity) {
    DeviceAttributes device = context.deviceAttributes();
    StringJoiner faults = new StringJoiner(", ");
    atMost(faults, "send requests", capacity.sendRequests(), device.maxQueuePairRequests());
    atMost(faults, "receive requests", capacity.receiveRequests(), device.maxQueuePairRequests());
    atMost(faults, "send SGEs", capacity.sendSges(), device.maxSges());
    atMost(faults, "receive SGEs", capacity.receiveSges(), device.maxSges());
    return faults.length() == 0
        ? "the type is not supported, or " + capacity + " exceeds the device in total"
        : "more than the maximum of the device: " + faults;
  }

  private static void atMost(StringJoiner faults, String what, int asked, int limit) {
    if (asked > limit) {
      faults.add("%d %s of %d".formatted(asked, what, limit));
    }
  }
}
