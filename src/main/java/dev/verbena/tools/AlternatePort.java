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
 * The port that a connection may migrate to.
 *
 * @param number the port; 0 if there is none
 * @param lid its LID, which the peer must know
 */
record AlternatePort(int number, int lid) {
  /** As C sends it: two bytes in network order, of four. */
  private static final int DATA_SIZE = 4;

  /** An active port of the device besides the one in use. */
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

  /** Refuses a device whose connections cannot migrate. */
  static void require(Context context) {
    if (!isSupported(context)) {
      throw new Failure(
          "device does not support auto path migration!",
          new UnsupportedOperationException(
              context.device() + " is no InfiniBand adapter with automatic path migration"));
    }
  }

  /** Refuses where no device has connections that can migrate. */
  static void requireAny(List<Context> contexts) {
    if (contexts.stream().noneMatch(AlternatePort::isSupported)) {
      contexts.forEach(AlternatePort::require);
    }
  }

  /** Some devices say that they can, but have no LIDs for a connection to migrate between. */
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

  /** Tells a connection to be ready to go from this port to another LID of the peer's. */
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

  /** Makes a connection take its alternate path now. */
  static void migrate(QueuePair queuePair) {
    queuePair.modify(QueuePairAttributes.builder().migrationState(MigrationState.MIGRATED).build());
  }
}
