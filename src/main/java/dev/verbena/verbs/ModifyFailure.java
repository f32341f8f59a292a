package dev.verbena.verbs;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.address.AddressVector;
import dev.verbena.address.GlobalRoute;
import dev.verbena.attributes.DeviceAttributes;
import dev.verbena.attributes.LinkLayer;
import dev.verbena.attributes.PortAttributes;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.rules.StateTable;
import dev.verbena.values.QueuePairAttribute;
import dev.verbena.values.QueuePairAttributes;
import dev.verbena.values.QueuePairState;
import java.util.Optional;
import java.util.StringJoiner;

/** Determines why {@code ibv_modify_qp} failed, which only returns an error number. */
final class ModifyFailure {
  private final QueuePair queuePair;
  private final QueuePairAttributes attributes;

  ModifyFailure(QueuePair queuePair, QueuePairAttributes attributes) {
    this.queuePair = queuePair;
    this.attributes = attributes;
  }

  /** Adds the likely cause to the failure. */
  VerbsException explain(VerbsException failure) {
    String cause =
        switch (failure.errno()) {
          case Errno.EINVAL, Errno.ENODATA -> breach(failure);
          case Errno.ETIMEDOUT, Errno.ENETUNREACH, Errno.EHOSTUNREACH ->
              "no route for %s, or the address of the destination cannot be resolved"
                  .formatted(path());
          case Errno.EPERM -> "a Q_Key with the most significant bit set requires CAP_NET_RAW";
          default -> "with " + attributes;
        };
    return Explanation.add(failure, queuePair + ": " + cause);
  }

  private String breach(VerbsException failure) {
    QueuePairState from = actualState(failure);
    QueuePairState to = has(QueuePairAttribute.STATE) ? attributes.state() : from;
    Optional<String> wrong = StateTable.explain(queuePair.type(), from, to, attributes.mask());
    if (wrong.isEmpty() && from == QueuePairState.SQD) {
      return "the send queue may still be draining: wait for SQ_DRAINED";
    }
    return wrong.orElseGet(this::wrongValue);
  }

  private QueuePairState actualState(VerbsException failure) {
    try {
      return queuePair.state();
    } catch (VerbsException e) {
      failure.addSuppressed(e);
      return QueuePairState.UNKNOWN;
    }
  }

  private boolean has(QueuePairAttribute attribute) {
    return attributes.mask().contains(attribute);
  }

  private String path() {
    return has(QueuePairAttribute.AV)
        ? attributes.path().map(AddressVector::toString).orElse("the path")
        : "the path";
  }

  /**
   * Returns the attributes whose values exceed the device, if the transition is allowed by the
   * state table.
   */
  private String wrongValue() {
    StringJoiner faults = new StringJoiner("; ");
    DeviceAttributes device = queuePair.context().deviceAttributes();
    atMost(faults, QueuePairAttribute.MAX_DEST_RD_ATOMIC, device.maxReadsAsTarget());
    atMost(faults, QueuePairAttribute.MAX_QP_RD_ATOMIC, device.maxReadsAsInitiator());
    if (has(QueuePairAttribute.PORT) && attributes.port() > device.portCount()) {
      faults.add("the device has %d port(s)".formatted(device.portCount()));
    }
    if (has(QueuePairAttribute.AV)) {
      attributes.path().ifPresent(path -> checkPath(faults, path, device));
    }
    return faults.length() > 0
        ? faults.toString()
        : "all required attributes are present (%s), so one of their values is invalid"
            .formatted(attributes);
  }

  private void atMost(StringJoiner faults, QueuePairAttribute attribute, int limit) {
    if (!has(attribute)) {
      return;
    }
    int value =
        attribute == QueuePairAttribute.MAX_QP_RD_ATOMIC
            ? attributes.readsAsInitiator()
            : attributes.readsAsTarget();
    if (value > limit) {
      faults.add(
          "IBV_QP_%s is %d, the maximum of the device is %d".formatted(attribute, value, limit));
    }
  }

  private void checkPath(StringJoiner faults, AddressVector path, DeviceAttributes device) {
    if (path.port() > device.portCount()) {
      faults.add("the path has port %d of %d".formatted(path.port(), device.portCount()));
      return;
    }
    Port port = queuePair.context().port(path.port());
    PortAttributes now = port.attributes();
    if (has(QueuePairAttribute.PATH_MTU) && attributes.pathMtu().compareTo(now.activeMtu()) > 0) {
      faults.add(
          "the path MTU is %d, that of %s is %d"
              .formatted(attributes.pathMtu().bytes(), port, now.activeMtu().bytes()));
    }
    if (path.route().isEmpty() && now.linkLayer() == LinkLayer.ETHERNET) {
      faults.add("a path on Ethernet requires a global routing header (GRH)");
    }
    path.route()
        .map(GlobalRoute::sourceGidIndex)
        .filter(index -> port.gidTable().stream().noneMatch(entry -> entry.index() == index))
        .ifPresent(index -> faults.add("%s has no GID at index %d".formatted(port, index)));
  }
}
