package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import java.util.StringJoiner;

/** Finds out why a queue pair was not made, which C tells as EINVAL or ENOMEM. */
final class CapacityFailure {
  private CapacityFailure() {}

  /** The same failure with its cause in words. */
  static VerbsException explain(
      VerbsException failure, Context context, QueuePairType type, QueuePairCapacity capacity) {
    String asked = "a queue pair of type " + type + " on " + context.device();
    return failure.explained(
        switch (failure.errno()) {
          case Errno.EOPNOTSUPP, Errno.ENOSYS -> asked + " is not supported";
          case Errno.EPERM -> asked + " needs a privilege: CAP_NET_RAW";
          case Errno.EINVAL, Errno.ENOMEM -> asked + ": " + excess(context, capacity);
          default -> asked;
        });
  }

  private static String excess(Context context, QueuePairCapacity capacity) {
    DeviceAttributes device = context.deviceAttributes();
    StringJoiner faults = new StringJoiner(", ");
    atMost(faults, "send requests", capacity.sendRequests(), device.maxQueuePairRequests());
    atMost(faults, "receive requests", capacity.receiveRequests(), device.maxQueuePairRequests());
    atMost(faults, "send entries", capacity.sendSges(), device.maxScatterGatherEntries());
    atMost(faults, "receive entries", capacity.receiveSges(), device.maxScatterGatherEntries());
    return faults.length() == 0
        ? "the type is not supported, or " + capacity + " is too much together"
        : "more than the device can do: " + faults;
  }

  private static void atMost(StringJoiner faults, String what, int asked, int limit) {
    if (asked > limit) {
      faults.add("%d %s of %d".formatted(asked, what, limit));
    }
  }
}
