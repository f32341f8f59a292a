package dev.verbena.mlx5;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.soft.InSimulation;
import dev.verbena.soft.Simulation;
import dev.verbena.soft.SoftInternals;
import dev.verbena.soft.transport.SoftQueuePair;
import dev.verbena.soft.wire.Opcode;
import dev.verbena.soft.wire.Packet;
import dev.verbena.soft.wire.RoceCodec;
import dev.verbena.soft.wire.Syndrome;
import dev.verbena.testing.Await;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairState;
import dev.verbena.verbs.AsyncEvents;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SendList;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What a DC target does with packets of any content, and an initiator with answers. */
@Tag("host")
@InSimulation
class DcPacketsTest extends SoftDcEnds {
  /** The number of an initiator that does not exist. */
  private static final int STRANGER = 0x123456;

  /** A request for the target with a place in a session; its payload is as long as the MTU. */
  private Packet packet(int operation, long session, int oldestPsn, int psn) {
    SoftQueuePair from = soft(a.initiator);
    Packet packet = from.device.packets.take().reset(Opcode.DC | operation, target, psn);
    packet.sourceNumber = STRANGER;
    packet.session = session;
    packet.oldestPsn = oldestPsn;
    packet.accessKey = KEY;
    packet.ackRequested = true;
    packet.address = b.memory.start();
    packet.remoteKey = b.memory.rkey();
    boolean isWhole = operation == Opcode.SEND_FIRST || operation == Opcode.SEND_MIDDLE;
    packet.length = isWhole ? from.device.mtu : 8;
    packet.dmaLength = 8;
    return packet;
  }

  private void inject(Consumer<Packet> change, int operation, long session, int oldest, int psn) {
    forge(change, operation, session, oldest, psn);
    new SoftInternals(network).settle();
  }

  private void forge(Consumer<Packet> change, int operation, long session, int oldest, int psn) {
    SoftQueuePair from = soft(a.initiator);
    from.device.engine.locked(
        () -> {
          Packet packet = packet(operation, session, oldest, psn);
          pathToB.address(packet);
          change.accept(packet);
          from.device.fabric.send(pathToB.port(), packet);
        });
  }

  private void inject(int operation, long session, int oldest, int psn) {
    inject(_ -> {}, operation, session, oldest, psn);
  }

  /** What the target has answered the stranger since the last call. */
  private List<String> answers() {
    List<String> answers =
        trace.stream()
            .filter(line -> line.startsWith("sent ") && line.contains("qpn=0x123456"))
            .map(line -> line.replaceFirst(".*psn=(\\S+) .*session=\\S+.*", "$1") + answer(line))
            .toList();
    trace.clear();
    return answers;
  }

  private static String answer(String line) {
    return line.contains("NAK(") || line.contains("RNR")
        ? " " + line.replaceFirst(".* (RNR_NAK|NAK)(\\([a-zA-Z0-9. ]*\\)).*", "$1$2")
        : "";
  }

  private void receives(int count) {
    for (int i = 1; i <= count; i++) {
      b.receive(i, 0, 8192);
    }
    network.trace(trace::add);
  }

  private void assertReceived(long id, CompletionStatus status) {
    Completions received = b.completion();
    assertEquals(id, received.id(0));
    assertEquals(status, received.status(0));
  }

  private void assertNothingReceived() {
    assertEquals(0, b.completions.poll(new Completions(1)));
  }

  @Test
  void aRequestThatArrivesAgainIsAcknowledgedOnly() {
    receives(2);
    inject(Opcode.SEND_ONLY, 10, 5, 5);
    assertReceived(1, CompletionStatus.SUCCESS);
    inject(Opcode.SEND_ONLY, 10, 5, 5);
    assertNothingReceived();
    assertEquals(List.of("0x000005", "0x000005"), answers());
  }

  @Test
  void aRequestOfAnEarlierSessionIsDropped() {
    receives(2);
    inject(Opcode.SEND_ONLY, 10, 5, 5);
    assertReceived(1, CompletionStatus.SUCCESS);
    inject(Opcode.SEND_ONLY, 9, 6, 6);
    assertNothingReceived();
    assertEquals(List.of("0x000005"), answers());
    inject(Opcode.SEND_ONLY, 11, 90, 90);
    assertReceived(2, CompletionStatus.SUCCESS);
  }

  @Test
  void theFirstPacketOfASessionMayArriveLate() {
    receives(2);
    inject(Opcode.SEND_ONLY, 10, 5, 6);
    assertNothingReceived();
    assertEquals(List.of("0x000005 NAK(PSN sequence error)"), answers());
    inject(Opcode.SEND_ONLY, 10, 5, 5);
    inject(Opcode.SEND_ONLY, 10, 5, 6);
    assertReceived(1, CompletionStatus.SUCCESS);
    assertReceived(2, CompletionStatus.SUCCESS);
  }

  @Test
  void aMessageThatAnotherSessionFollowsIsFlushed() {
    receives(2);
    inject(Opcode.SEND_FIRST, 10, 5, 5);
    assertNothingReceived();
    inject(Opcode.SEND_ONLY, 11, 6, 6);
    assertReceived(1, CompletionStatus.WR_FLUSH_ERR);
    assertReceived(2, CompletionStatus.SUCCESS);
  }

  @Test
  void aWrongAccessKeyAcknowledgesNothing() {
    receives(1);
    inject(packet -> packet.accessKey++, Opcode.SEND_ONLY, 10, 5, 7);
    assertNothingReceived();
    assertEquals(List.of("0x000005 NAK(remote access error)"), answers());
    inject(Opcode.SEND_ONLY, 9, 5, 5);
    assertReceived(1, CompletionStatus.SUCCESS); // Nothing is kept of a stranger.
  }

  @Test
  void aRefusalIsRepeatedUntilTheNextSession() {
    receives(1);
    for (int i = 0; i < 2; i++) {
      inject(packet -> packet.remoteKey += 256, Opcode.WRITE_ONLY, 10, 5, 5);
    }
    inject(Opcode.SEND_ONLY, 10, 5, 6);
    String refusal = "0x000005 NAK(remote access error)";
    assertEquals(List.of(refusal, refusal, refusal), answers());
    assertNothingReceived();
    inject(Opcode.SEND_ONLY, 11, 6, 6);
    assertReceived(1, CompletionStatus.SUCCESS);
  }

  @Test
  void aMessageIsFlushedWhenTheDeviceIsRemoved() {
    receives(1);
    inject(Opcode.SEND_FIRST, 10, 5, 5);
    network.removeDevice("soft2");
    assertReceived(1, CompletionStatus.WR_FLUSH_ERR);
  }

  /** As with all queue pairs that are destroyed. */
  @Test
  void aMessageOfATargetThatIsClosedHasNoCompletion() {
    receives(1);
    inject(Opcode.SEND_FIRST, 10, 5, 5);
    b.target.close();
    assertNothingReceived();
  }

  /** What waits while a READ is answered is not executed when its memory is deregistered. */
  @Test
  void aRequestAfterAReadThatFailsIsNotExecuted() {
    receives(1);
    MemoryRegion region =
        b.domain.allocateMemory(1 << 20, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
    SoftQueuePair answering = soft(b.target);
    answering.device.engine.locked(
        () -> {
          forge(
              packet -> {
                packet.address = region.start();
                packet.remoteKey = region.rkey();
                packet.dmaLength = 1 << 20;
                packet.length = 0;
              },
              Opcode.READ_REQUEST,
              10,
              5,
              5);
          forge(_ -> {}, Opcode.SEND_ONLY, 10, 5, 5 + (1 << 20) / answering.device.mtu);
          assertTrue(answering.task.run(), "a part was sent");
          region.close();
        });
    new SoftInternals(network).settle();
    assertNothingReceived();
    assertEquals("0x000025 NAK(remote access error)", answers().getLast());
  }

  /** The kernel's driver reports none, whether the target refuses a request or not. */
  @Test
  void aTargetHasNoEvents() {
    AsyncEvents events = AsyncEvents.of(b.context);
    receives(1);
    inject(Opcode.SEND_ONLY, 10, 5, 5);
    inject(packet -> packet.remoteKey += 256, Opcode.WRITE_ONLY, 10, 5, 6);
    inject(packet -> packet.accessKey++, Opcode.WRITE_ONLY, 11, 7, 7);
    assertEquals(3, answers().size());
    assertNull(events.poll());
  }

  @Test
  void packetsForTheOtherEndAreDropped() {
    receives(1);
    long before = counters(b).droppedPackets;
    inject(Opcode.ACKNOWLEDGE, 10, 5, 5);
    inject(packet -> packet.destination = b.initiator.number(), Opcode.SEND_ONLY, 10, 5, 5);
    inject(packet -> packet.opcode = Opcode.SEND_ONLY, Opcode.SEND_ONLY, 10, 5, 5);
    assertEquals(before + 3, counters(b).droppedPackets);
    assertEquals(List.of(), answers());
    assertNothingReceived();
  }

  @Test
  void anInitiatorTakesAnswersOfItsSessionAndTargetOnly() {
    network.trace(trace::add);
    QueuePair initiator = a.patientInitiator();
    SendList list = new SendList(1, 1);
    to(list.send(0).local(a.memory, 0, 8));
    assertEquals(1, initiator.post(list)); // There is no receive request: it is repeated.
    Await.until("a request", () -> trace.stream().anyMatch(line -> line.contains("SEND_ONLY")));
    String sent = trace.stream().filter(l -> l.contains("SEND_ONLY")).findFirst().orElseThrow();
    long session = Long.decode(sent.replaceFirst(".*session=(\\S+).*", "$1"));
    int psn = Integer.decode(sent.replaceFirst(".*psn=(\\S+).*", "$1"));
    acknowledge(initiator, session + 1, target, psn);
    acknowledge(initiator, session, target + 1, psn);
    assertEquals(0, a.completions.poll(new Completions(1)));
    acknowledge(initiator, session, target, psn);
    a.expect(CompletionStatus.SUCCESS);
  }

  private void acknowledge(QueuePair initiator, long session, int source, int psn) {
    SoftQueuePair to = soft(initiator);
    SoftQueuePair from = soft(b.target);
    from.device.engine.locked(
        () -> {
          Packet packet =
              from.device.packets.take().reset(Opcode.DC | Opcode.ACKNOWLEDGE, to.number, psn);
          packet.sourceNumber = source;
          packet.session = session;
          packet.syndrome = Syndrome.ACK;
          packet.sourceGidHigh = to.path.destination().high();
          packet.sourceGidLow = to.path.destination().low();
          packet.destinationGidHigh = to.path.source().high();
          packet.destinationGidLow = to.path.source().low();
          from.device.fabric.send(from.path.port(), packet);
        });
    new SoftInternals(network).settle();
  }

  @Test
  void randomPacketsDoNoHarm() {
    receives(DcSide.DEPTH);
    network.trace(_ -> {});
    RandomGenerator random = new Random(1);
    for (int i = 0; i < 5_000; i++) {
      int operation = random.nextInt(32);
      if (RoceCodec.extensions(Opcode.DC | operation) < 0) {
        continue;
      }
      int oldest = random.nextInt(4);
      inject(
          packet -> {
            packet.sourceNumber = STRANGER + random.nextInt(4);
            packet.accessKey += random.nextInt(8) == 0 ? 1 : 0;
            packet.remoteKey += random.nextInt(4) == 0 ? 256 : 0;
            packet.address += random.nextInt(8) == 0 ? random.nextLong() : random.nextInt(64);
            packet.dmaLength = random.nextInt(8) == 0 ? random.nextInt() : random.nextInt(64);
            packet.length = random.nextBoolean() ? packet.length : random.nextInt(64);
            packet.immediate = random.nextInt();
          },
          operation,
          10 + i / 25 + random.nextInt(3),
          oldest,
          oldest + random.nextInt(4));
    }
    while (b.completions.poll(new Completions(DcSide.DEPTH)) > 0) {}
    assertServes();
    assertEquals(QueuePairState.RTR, b.target.state());
  }

  /** Lets a number of initiators send a request to the target. */
  private void fill(int count) {
    for (int i = 0; i < count; i++) {
      int number = i;
      inject(packet -> packet.sourceNumber = 0x10000 + number, Opcode.WRITE_ONLY, 10, 5, 5);
    }
  }

  @Test
  void aSessionThatTheTargetHasForgottenGoesOn() throws InterruptedException {
    assertServes();
    fill(4095);
    Simulation.sleep(Duration.ofSeconds(21));
    inject(Opcode.WRITE_ONLY, 10, 5, 5); // Takes the place of the initiator.
    for (int i = 0; i < 2; i++) {
      b.receive(i, 0, 64);
      send();
      a.expect(CompletionStatus.SUCCESS);
      assertReceived(i, CompletionStatus.SUCCESS);
    }
  }

  /** A session that was forged does not exclude the initiator for ever. */
  @Test
  void anEarlierSessionThatIsRepeatedBeginsAfterASilence() throws InterruptedException {
    receives(2);
    inject(Opcode.SEND_ONLY, 10, 5, 5);
    assertReceived(1, CompletionStatus.SUCCESS);
    inject(Opcode.SEND_ONLY, 9, 8, 8);
    Simulation.sleep(Duration.ofSeconds(21));
    inject(Opcode.SEND_ONLY, 9, 8, 8);
    assertReceived(2, CompletionStatus.SUCCESS);
    inject(Opcode.SEND_ONLY, 8, 5, 5);
    assertEquals(List.of("0x000005", "0x000008"), answers());
  }

  /** What has waited while the process stood still is not newer than what arrived before. */
  @Test
  void aRequestOfAnEarlierSessionIsDroppedAfterAPauseOfTheTarget() {
    receives(2);
    inject(Opcode.SEND_ONLY, 10, 5, 5);
    assertReceived(1, CompletionStatus.SUCCESS);
    soft(b.target)
        .device
        .engine
        .locked(
            () -> {
              forge(_ -> {}, Opcode.SEND_ONLY, 9, 4, 4);
              sleep(Duration.ofSeconds(21));
            });
    new SoftInternals(network).settle();
    assertNothingReceived();
    inject(Opcode.SEND_ONLY, 10, 6, 6);
    assertReceived(2, CompletionStatus.SUCCESS);
  }

  private static void sleep(Duration time) {
    try {
      Simulation.sleep(time);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void anInitiatorThatIsSilentWithinAMessageKeepsNoReceiveRequestThatAnotherNeeds()
      throws InterruptedException {
    receives(1);
    inject(Opcode.SEND_FIRST, 10, 5, 5);
    SendList list = new SendList(1, 1);
    to(list.send(0).local(a.memory, 0, 8));
    assertEquals(1, a.patientInitiator().post(list));
    Simulation.sleep(Duration.ofSeconds(19));
    assertNothingReceived();
    assertReceived(1, CompletionStatus.WR_FLUSH_ERR);
    b.receive(2, 0, 8192);
    assertReceived(2, CompletionStatus.SUCCESS);
    a.expect(CompletionStatus.SUCCESS);
    answers();
    b.receive(3, 0, 8192);
    inject(Opcode.SEND_MIDDLE, 10, 6, 6);
    assertEquals(List.of("0x000006 NAK(invalid request)"), answers());
    assertNothingReceived();
  }

  @Test
  void initiatorsHaveABoundAndIdleOnesMakeRoom() throws InterruptedException {
    b.receive(7, 0, 8192);
    inject(packet -> packet.sourceNumber = 0x20000, Opcode.SEND_FIRST, 10, 5, 5);
    fill(4095);
    network.trace(trace::add);
    for (int i = 0; i < 100; i++) {
      int number = i;
      inject(
          packet -> {
            packet.sourceNumber = 0x30000 + number;
            packet.accessKey++;
          },
          Opcode.WRITE_ONLY,
          10,
          5,
          5);
    }
    long before = counters(b).droppedPackets;
    inject(Opcode.WRITE_ONLY, 10, 5, 5);
    assertEquals(before + 1, counters(b).droppedPackets);
    assertEquals(List.of(), answers());
    Simulation.sleep(Duration.ofSeconds(21));
    inject(Opcode.WRITE_ONLY, 10, 5, 5);
    assertEquals(List.of("0x000005"), answers());
    assertReceived(7, CompletionStatus.WR_FLUSH_ERR); // That of the initiator which made room.
    assertServes();
  }
}
