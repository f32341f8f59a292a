package dev.verbena.soft;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.soft.device.Delays;
import dev.verbena.testing.Await;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Programs that rely on luck fail with {@link Faults#strict}, those that do not rely on it pass.
 */
@Tag("host")
class StrictTest {
  private static final int ROUNDS = 200;
  private static final int DATA = 10_000;

  private static SoftPair pair(boolean strict) {
    SoftPair pair = SoftPair.connected();
    if (strict) {
      Faults _ = pair.network.faults().seed(11).strict();
    }
    return pair;
  }

  private static void write(SoftPair pair, int value) {
    pair.a.memory.set(ValueLayout.JAVA_INT, 0, value);
    SendList list = new SendList(1, 1);
    list.write(0)
        .local(pair.a.region, 0, 4)
        .remote(pair.b.region.start() + 64, pair.b.region.rkey())
        .signaled();
    assertEquals(1, pair.a.queuePair.post(list));
    assertEquals(CompletionStatus.SUCCESS, pair.completion());
  }

  /** The completion at the requester says nothing of the memory of the responder. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void dataOfAWriteAreReadTooEarly(boolean strict) {
    try (SoftPair pair = pair(strict)) {
      int early = 0;
      for (int i = 1; i <= ROUNDS; i++) {
        write(pair, i);
        early += pair.b.memory.get(ValueLayout.JAVA_INT, 64) == i ? 0 : 1;
      }
      assertEquals(strict, early > 0, early + " times");
    }
  }

  @Test
  void dataOfAWriteAreThereWhenALaterReceiveCompletes() {
    try (SoftPair pair = pair(true)) {
      for (int i = 1; i <= ROUNDS; i++) {
        write(pair, i);
        pair.post(4);
        assertEquals(CompletionStatus.SUCCESS, SoftPair.await(pair.b.completions));
        assertEquals(i, pair.b.memory.get(ValueLayout.JAVA_INT, 64));
        assertEquals(CompletionStatus.SUCCESS, pair.completion());
      }
    }
  }

  /** What is seen of one or two RDMA writes while their data arrive, in any of some runs. */
  private static boolean isSeen(String wanted, int firstEnd, int secondBegin, AccessFlag... flags) {
    boolean[] seen = {false};
    for (long seed = 0; seed < 20; seed++) {
      Simulation.run(
          seed,
          simulation -> {
            try (SoftPair pair = SoftPair.connected()) {
              Faults _ = pair.network.faults().seed(simulation.seed()).strict();
              Set<AccessFlag> access = EnumSet.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
              access.addAll(List.of(flags));
              MemoryRegion target = pair.b.domain.registerMemory(pair.b.memory, access);
              pair.a.memory.fill((byte) 1);
              SendList list = new SendList(2, 1);
              list.write(0).local(pair.a.region, 0, firstEnd).remote(target.start(), target.rkey());
              list.write(1)
                  .local(pair.a.region, secondBegin, DATA - secondBegin)
                  .remote(target.start() + secondBegin, target.rkey())
                  .signaled();
              assertEquals(2, pair.a.queuePair.post(list));
              String last = "";
              while (!last.equals("11")) {
                last =
                    ""
                        + pair.b.memory.get(ValueLayout.JAVA_BYTE, 0)
                        + pair.b.memory.get(ValueLayout.JAVA_BYTE, DATA - 1);
                seen[0] |= last.equals(wanted);
                Simulation.sleep(Duration.ofNanos(1000));
              }
            }
          });
    }
    return seen[0];
  }

  @Test
  @EnabledForJreRange(minVersion = 24)
  void theLastBytesOfAWriteAreThereBeforeTheFirst() {
    assertTrue(isSeen("01", DATA, DATA - 1));
  }

  /** A number that is written after the data: programs poll it. */
  @Test
  @EnabledForJreRange(minVersion = 24)
  void theDataOfTwoWritesKeepTheirOrder() {
    assertFalse(isSeen("01", 8, DATA - 1));
    assertTrue(isSeen("01", 8, DATA - 1, AccessFlag.RELAXED_ORDERING));
  }

  @Test
  void dataOfAWriteAreThereForALaterRead() {
    try (SoftPair pair = pair(true)) {
      SendList read = new SendList(1, 1);
      read.read(0)
          .local(pair.a.region, 128, 4)
          .remote(pair.b.region.start() + 64, pair.b.region.rkey())
          .signaled();
      for (int i = 1; i <= ROUNDS; i++) {
        write(pair, i);
        assertEquals(1, pair.a.queuePair.post(read));
        assertEquals(CompletionStatus.SUCCESS, pair.completion());
        assertEquals(i, pair.a.memory.get(ValueLayout.JAVA_INT, 128));
      }
    }
  }

  @Test
  void aSendBufferIsChangedTooEarly() {
    try (SoftPair pair = pair(true)) {
      int changed = 0;
      for (int i = 1; i <= ROUNDS; i++) {
        pair.a.memory.set(ValueLayout.JAVA_INT, 0, i);
        pair.post(4);
        pair.a.memory.set(ValueLayout.JAVA_INT, 0, -1);
        assertEquals(CompletionStatus.SUCCESS, SoftPair.await(pair.b.completions));
        assertEquals(CompletionStatus.SUCCESS, pair.completion());
        changed += pair.b.memory.get(ValueLayout.JAVA_INT, 0) == i ? 0 : 1;
      }
      assertTrue(changed > 0, "each message was sent as soon as it was posted");
    }
  }

  /** The completion at the sender says that the message was received, not that it is in memory. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aReceiveBufferIsReadTooEarly(boolean strict) {
    try (SoftPair pair = pair(strict)) {
      int early = 0;
      for (int i = 1; i <= ROUNDS; i++) {
        pair.a.memory.set(ValueLayout.JAVA_INT, 0, i);
        pair.post(4);
        assertEquals(CompletionStatus.SUCCESS, pair.completion());
        early += pair.b.memory.get(ValueLayout.JAVA_INT, 0) == 0xa5a5a5a5 ? 1 : 0;
        assertEquals(CompletionStatus.SUCCESS, SoftPair.await(pair.b.completions));
        assertEquals(i, pair.b.memory.get(ValueLayout.JAVA_INT, 0));
      }
      assertEquals(strict, early > 0, early + " times");
    }
  }

  @Test
  void nothingIsWrittenBehindTheMessage() {
    try (SoftPair pair = pair(true)) {
      pair.b.memory.fill((byte) 7);
      ReceiveList receives = new ReceiveList(1, 1);
      receives.local(0, pair.b.region, 0, 64);
      assertEquals(1, pair.b.queuePair.post(receives));
      SendList list = new SendList(1, 1);
      list.send(0).local(pair.a.region, 0, 4).signaled();
      assertEquals(1, pair.a.queuePair.post(list));
      assertEquals(CompletionStatus.SUCCESS, SoftPair.await(pair.b.completions));
      assertEquals(7, pair.b.memory.get(ValueLayout.JAVA_BYTE, 4));
    }
  }

  /** Two queue pairs on one completion queue: no order is promised among them. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void theCompletionOfAnotherQueuePairComesFirst(boolean strict) {
    try (SoftPair pair = pair(strict)) {
      QueuePair second = connectedToItself(pair);
      MemoryRegion own =
          pair.a.domain.registerMemory(
              pair.a.memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
      SendList list = new SendList(2, 1);
      list.write(0)
          .id(0)
          .local(pair.a.region, 0, 4)
          .remote(pair.b.region.start(), pair.b.region.rkey())
          .signaled();
      list.write(1)
          .id(1)
          .local(pair.a.region, 0, 4)
          .remote(own.start() + 64, own.rkey())
          .signaled();
      Completions completions = new Completions(1);
      int overtaken = 0;
      int together = 0;
      for (int i = 0; i < ROUNDS; i++) {
        assertEquals(1, pair.a.queuePair.post(list, 0, 1));
        awaitExecuted(pair, pair.a.queuePair);
        assertEquals(1, second.post(list, 1, 1));
        awaitExecuted(pair, second);
        Await.until("one", () -> pair.a.completions.poll(completions) == 1);
        overtaken += completions.id(0) == 0 ? 0 : 1;
        if (pair.a.completions.poll(completions) == 1) {
          together++;
        } else {
          Await.until("the other", () -> pair.a.completions.poll(completions) == 1);
        }
      }
      assertEquals(strict, overtaken > 0, overtaken + " times");
      assertTrue(together > 0, "none was polled together with another");
    }
  }

  private static void awaitExecuted(SoftPair pair, QueuePair queuePair) {
    Await.until(
        "the end of the request",
        () -> pair.network.engine.locked(() -> SoftInternals.of(queuePair).sends.isEmpty()));
  }

  private static QueuePair connectedToItself(SoftPair pair) {
    QueuePair queuePair =
        QueuePair.builder(pair.a.domain, QueuePairType.RC)
            .completions(pair.a.completions)
            .capacity(QueuePairCapacity.of(4))
            .create();
    queuePair.connect(queuePair.localAddress());
    return queuePair;
  }

  @Test
  void theSeedDeterminesWhatIsLate() {
    Delays one = new Delays();
    Delays other = new Delays();
    one.begin(5);
    other.begin(5);
    assertArrayEquals(
        IntStream.range(0, 100).mapToLong(i -> one.start(0)).toArray(),
        IntStream.range(0, 100).mapToLong(i -> other.start(0)).toArray());
    other.end();
    assertEquals(0, other.start(0));
  }

  @Test
  void messagesArriveInOrderBetweenStrictHosts() throws Exception {
    try (SoftHosts hosts = SoftHosts.strict(3)) {
      for (int i = 0; i < ROUNDS; i++) {
        byte[] message = ("message " + i).getBytes(UTF_8);
        hosts.client().send(message);
        assertArrayEquals(message, hosts.server().receive());
      }
    }
  }

  @Test
  void severalMessagesUnderWayKeepTheirOrder() throws Exception {
    try (SoftHosts hosts = SoftHosts.strict(4)) {
      for (int round = 0; round < ROUNDS; round++) {
        for (byte i = 0; i < 10; i++) {
          hosts.client().postSend(new byte[] {i});
        }
        for (byte i = 0; i < 10; i++) {
          assertArrayEquals(new byte[] {i}, hosts.server().receive());
        }
        hosts.client().awaitPosted();
      }
    }
  }
}
