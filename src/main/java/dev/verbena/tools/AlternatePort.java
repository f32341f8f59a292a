package dev.verbena.tools;

import dev.verbena.verbs.AddressVector;
import dev.verbena.verbs.AlternatePath;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.DeviceCapability;
import dev.verbena.verbs.LinkLayer;
import dev.verbena.verbs.MigrationState;
import dev.verbena.verbs.PortAttributes;
import dev.verbena.verbs.PortState;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairAttribute;
import dev.verbena.verbs.QueuePairAttributes;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * The port of the alternate path of a connection.
 *
 * @param number the port; 0 if there is none
 * @param lid its LID
 */
record AlternatePort(int number, int lid) {
  /**
   * The size of the private data in the C program: four bytes, of which two hold the LID in network
   * order.
   */
  private static final int DATA_SIZE = 4;

  /** Returns an active port of the device other than the one in use. */
  static AlternatePort of(Context context, int used) {
    require(context);
    return context.ports().stream()
        .filter(port -> port.number() != used)
        .map(port -> of(port.number(), port.attributes()))
        .filter(found -> found.number() != 0)
        .findFirst()
        .orElse(new AlternatePort(0, 0));
  }

  private static AlternatePort of(int number, PortAttributes attributes) {
    boolean active = attributes.state() == PortState.ACTIVE;
    return new AlternatePort(active ? number : 0, attributes.lid());
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
   * Returns whether a device supports path migration. Some devices report the capability, but have
   * no LIDs to migrate between.
   */
  private static boolean isSupported(Context context) {
    return context.deviceAttributes().has(DeviceCapability.AUTO_PATH_MIG)
        && context.ports().stream()
            .anyMatch(port -> port.attributes().linkLayer() == LinkLayer.INFINIBAND);
  }

  byte[] privateData() {
    return ByteBuffer.allocate(DATA_SIZE).putShort((short) lid).array();
  }

  static int lidOf(byte[] privateData) {
    if (privateData.length < DATA_SIZE) {
      throw new Failure("unexpected private data len: " + privateData.length);
    }
    return Short.toUnsignedInt(ByteBuffer.wrap(privateData).getShort());
  }

  /** Loads the alternate path of a queue pair: from this port to another LID of the peer. */
  void load(QueuePair queuePair, int remoteLid) {
    QueuePairAttributes now =
        queuePair.query(
            QueuePairAttribute.AV, QueuePairAttribute.PKEY_INDEX, QueuePairAttribute.TIMEOUT);
    AddressVector path = now.path().orElseThrow();
    AddressVector alternate = path.withPort(number).withLid(remoteLid);
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
