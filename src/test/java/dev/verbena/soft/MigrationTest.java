package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.address.AddressVector;
import dev.verbena.address.Gid;
import dev.verbena.address.GlobalRoute;
import dev.verbena.values.AlternatePath;
import dev.verbena.values.AsyncEventType;
import dev.verbena.values.MigrationState;
import dev.verbena.values.QueuePairAttributes;
import dev.verbena.verbs.AsyncEvents;
import dev.verbena.verbs.QueuePair;
import java.net.InetAddress;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Path migration between the two ports of two devices. */
class MigrationTest {
  private static InetAddress address(String text) {
    return InetAddress.ofLiteral(text);
  }

  private static SoftPair pair() {
    return SoftPair.connected(
        List.of(List.of(address("10.0.0.1")), List.of(address("10.0.1.1"))),
        List.of(List.of(address("10.0.0.2")), List.of(address("10.0.1.2"))));
  }

  /** Loads the path from port 2 to a GID, and arms the migration. */
  private static void load(QueuePair queuePair, String peer) {
    QueuePairAttributes now = queuePair.query();
    AddressVector path = AddressVector.global(2, new GlobalRoute(Gid.of(address(peer)), 1));
    queuePair.modify(
        QueuePairAttributes.builder()
            .alternatePath(new AlternatePath(path, 0, now.ackTimeout()))
            .migrationState(MigrationState.REARM)
            .build());
    assertEquals(MigrationState.ARMED, queuePair.query().migrationState());
  }

  @Test
  void portThatGoesDownIsLeftForTheOther() throws Exception {
    try (SoftPair pair = pair()) {
      load(pair.a.queuePair, "10.0.1.2");
      load(pair.b.queuePair, "10.0.1.1");
      pair.transfer(1, 100);
      pair.network.faults().portDown("soft0", 1);
      pair.transfer(3, 10_000);
      for (SoftPair.End end : List.of(pair.a, pair.b)) {
        assertEquals(MigrationState.MIGRATED, end.queuePair.query().migrationState());
        assertEquals(2, end.queuePair.query().port());
      }
    }
  }

  @Test
  void migrationOnRequestIsReportedAtBothEnds() throws Exception {
    try (SoftPair pair = pair()) {
      load(pair.a.queuePair, "10.0.1.2");
      load(pair.b.queuePair, "10.0.1.1");
      pair.a.queuePair.modify(
          QueuePairAttributes.builder().migrationState(MigrationState.MIGRATED).build());
      pair.transfer(1, 100);
      for (SoftPair.End end : List.of(pair.a, pair.b)) {
        AsyncEventType type;
        do { // The first packet may have raised COMM_EST.
          type = AsyncEvents.of(end.context).take().type();
        } while (type == AsyncEventType.COMM_EST);
        assertEquals(AsyncEventType.PATH_MIG, type);
      }
    }
  }
}
