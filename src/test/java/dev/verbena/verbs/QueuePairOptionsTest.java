package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.VerbsException;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.EnhancedConnectionEstablishment;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.RateLimit;

/** Queue pairs with choices that few devices have, and the messages that they carry. */
@On(
    value = {SOFTWARE, MLX5},
    reason =
        "Soft-RoCE has no enhanced connection establishment, no rate limits, no thread domains")
class QueuePairOptionsTest {
  private static final String TEXT = "carried";

  /** Sends a message from a to b. */
  private static void transfer(Pair pair) {
    pair.a.memory.memory().setString(0, TEXT);
    pair.b.receive(1);
    SendList list = new SendList(1, 1);
    list.send(0).local(pair.a.memory, 0, 64).signaled();
    pair.a.run(list);
    pair.b.completion(CompletionStatus.SUCCESS);
    assertEquals(TEXT, pair.b.memory.memory().getString(0));
  }

  @DeviceTest
  void endsAgreeOnOptionsOfTheConnection() {
    try (Pair pair = new Pair(QueuePairType.RC)) {
      EnhancedConnectionEstablishment offered = Rig.orSkip(pair.a.queuePair::enhancedConnection);
      EnhancedConnectionEstablishment more =
          new EnhancedConnectionEstablishment(offered.vendor(), offered.options() | 0x10);
      pair.b.queuePair.enhancedConnection(more);
      QueuePairAddress addressOfB = pair.b.queuePair.localAddress();
      pair.b.queuePair.connect(pair.a.queuePair.localAddress());
      EnhancedConnectionEstablishment agreed = pair.b.queuePair.enhancedConnection();
      assertEquals(offered, agreed, "what both ends know");
      EnhancedConnectionEstablishment foreign =
          new EnhancedConnectionEstablishment(offered.vendor() ^ 1, 1);
      assertThrows(VerbsException.class, () -> pair.a.queuePair.enhancedConnection(foreign));
      pair.a.queuePair.enhancedConnection(agreed);
      pair.a.queuePair.connect(addressOfB);
      assertEquals(agreed, pair.a.queuePair.enhancedConnection());
      transfer(pair);
    }
  }

  @DeviceTest
  @On(value = SOFTWARE, reason = "mlx5 limits the rate of raw packets alone: RawPacketTest")
  void ratesAreLimitedWithinTheRangeOfTheDevice() {
    try (Pair pair = Pair.connected(QueuePairType.RC)) {
      QueuePair queuePair = pair.a.queuePair;
      Rig.orSkip(
          () -> {
            queuePair.limitRate(RateLimit.ofKilobitsPerSecond(1_000_000));
            return queuePair;
          });
      transfer(pair);
      long most = pair.a.context.deviceAttributes().packetPacing().maxRate();
      RateLimit tooFast = RateLimit.ofKilobitsPerSecond(most + 1);
      assertThrows(VerbsException.class, () -> queuePair.limitRate(tooFast));
      transfer(pair);
    }
  }

  @DeviceTest
  void queuePairOfAParentDomainCarriesMessages() {
    try (Pair pair = new Pair()) {
      ThreadDomain thread = Rig.orSkip(() -> ThreadDomain.allocate(pair.a.context));
      ParentDomain parent = ParentDomain.builder(pair.a.domain).threadDomain(thread).create();
      pair.a.queuePair =
          QueuePair.builder(parent, QueuePairType.RC)
              .completions(pair.a.completionQueue)
              .capacity(QueuePairCapacity.of(4))
              .create();
      pair.b.queuePair = pair.b.builder(QueuePairType.RC).create();
      pair.connect();
      transfer(pair);
    }
  }
}
