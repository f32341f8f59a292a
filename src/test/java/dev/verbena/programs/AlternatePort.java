package dev.verbena.programs;

import dev.verbena.address.AddressVector;
import dev.verbena.address.GlobalRoute;
import dev.verbena.attributes.DeviceCapability;
import dev.verbena.attributes.LinkLayer;
import dev.verbena.attributes.PortState;
import dev.verbena.tools.command.Failure;
import dev.verbena.values.AlternatePath;
import dev.verbena.values.MigrationState;
import dev.verbena.values.QueuePairAttribute;
import dev.verbena.values.QueuePairAttributes;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.GidChoice;
import dev.verbena.verbs.Port;
import dev.verbena.verbs.QueuePair;
import java.util.List;

/**
 * The port of the alternate path of a connection.
 *
 * @param number the port; 0 if there is none
 * @param gidIndex the index of its GID, where GIDs are used
 * @param address its address
 */
record AlternatePort(int number, int gidIndex, AlternateAddress address) {
  private static final AlternatePort NONE = ofNumber(0);

  /** Returns a port whose address the peer knows. */
  static AlternatePort ofNumber(int number) {
    return new AlternatePort(number, 0, AlternateAddress.NONE);
  }

  /** Returns an active port of the device other than the one in use. */
  static AlternatePort of(Context context, int used) {
    require(context);
    return context.ports().stream()
        .filter(port -> port.number() != used && port.attributes().state() == PortState.ACTIVE)
        .map(AlternatePort::of)
        .findFirst()
        .orElse(NONE);
  }

  static AlternatePort of(Port port) {
    if (isInfiniBand(port)) {
      return new AlternatePort(port.number(), 0, AlternateAddress.ofLid(port.attributes().lid()));
    }
    GidChoice gid = port.chooseGid();
    return new AlternatePort(port.number(), gid.index(), new AlternateAddress(0, gid.gid()));
  }

  private static boolean isInfiniBand(Port port) {
    return port.attributes().linkLayer() == LinkLayer.INFINIBAND;
  }

  /** Throws if a device does not support path migration. */
  static void require(Context context) {
    if (!isSupported(context)) {
      throw new Failure(
          "device does not support auto path migration!",
          new UnsupportedOperationException(
              context.device() + " does not support automatic path migration"));
    }
  }

  /** Throws if no device supports path migration. */
  static void requireAny(List<Context> contexts) {
    if (contexts.stream().noneMatch(AlternatePort::isSupported)) {
      contexts.forEach(AlternatePort::require);
    }
  }

  /**
   * Returns whether a device supports path migration. Soft-RoCE reports the capability, but has one
   * port and no LIDs to migrate between.
   */
  private static boolean isSupported(Context context) {
    List<Port> ports = context.ports();
    return context.deviceAttributes().has(DeviceCapability.AUTO_PATH_MIG)
        && (ports.size() > 1 || ports.stream().anyMatch(AlternatePort::isInfiniBand));
  }

  /** Loads the alternate path of a queue pair: from this port to another port of the peer. */
  void load(QueuePair queuePair, AlternateAddress remote) {
    QueuePairAttributes now =
        queuePair.query(
            QueuePairAttribute.AV, QueuePairAttribute.PKEY_INDEX, QueuePairAttribute.TIMEOUT);
    AddressVector alternate =
        remote.gid().isZero()
            ? now.path().orElseThrow().withPort(number).withLid(remote.lid())
            : AddressVector.global(number, new GlobalRoute(remote.gid(), gidIndex));
    queuePair.modify(
        QueuePairAttributes.builder()
            .alternatePath(new AlternatePath(alternate, now.pkeyIndex(), now.ackTimeout()))
            .migrationState(MigrationState.REARM)
            .build());
  }

  /** Migrates a queue pair to its alternate path. */
  static void migrate(QueuePair queuePair) {
    queuePair.modify(QueuePairAttributes.builder().migrationState(MigrationState.MIGRATED).build());
  }
}
