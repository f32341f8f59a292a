package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.DeviceKind.SOFT_ROCE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.AckTimeout;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.MemoryWindowType;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.RnrTimer;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Every failure that software can provoke, and the way back into use through RESET. */
class ErrorTourTest {
  /** Longer than a busy, emulated machine pauses a program that answers. */
  private static final AckTimeout TIMEOUT = AckTimeout.atLeast(Duration.ofSeconds(1));

  /** Connected with one retry, so that failures do not take long. */
  private static Pair impatient() {
    Pair pair = new Pair(QueuePairType.RC);
    connect(pair);
    return pair;
  }

  private static void connect(Pair pair) {
    for (Pair.Side side : List.of(pair.a, pair.b)) {
      side.queuePair
          .setup()
          .ackTimeout(TIMEOUT)
          .retryCount(1)
          .rnrRetryCount(1)
          .minRnrTimer(RnrTimer.ofCode(1));
    }
    pair.connect();
  }

  /** Soft-RoCE sets the state after it has written the completion, and even after a reset. */
  private static void awaitError(Pair.Side... sides) {
    for (Pair.Side side : sides) {
      Await.until(
          side.queuePair + " in state ERR", () -> side.queuePair.state() == QueuePairState.ERR);
    }
  }

  /** Resets the queue pairs, of which the failure transitions some to ERR, and uses them. */
  private static void recovers(Pair pair, Pair.Side... failed) {
    awaitError(failed);
    pair.a.queuePair.reset();
    pair.b.queuePair.reset();
    connect(pair);
    pair.b.receive(77);
    pair.a.run(send(pair, 8));
    assertEquals(77, pair.b.completion(CompletionStatus.SUCCESS).id(0));
  }

  private static SendList send(Pair pair, int length) {
    SendList list = new SendList(1, 1);
    list.send(0).local(pair.a.memory, 0, length).signaled();
    return list;
  }

  private static void receive(Pair.Side side, int length, int lkey) {
    ReceiveList list = new ReceiveList(1, 1);
    list.localUnchecked(0, 0, side.memory.start(), length, lkey);
    assertEquals(1, side.queuePair.post(list));
  }

  /**
   * What Soft-RoCE, which the lab's guests have, reports in place of the specification's status.
   */
  private static CompletionStatus status(CompletionStatus softRoce, CompletionStatus specified) {
    return Rig.labGuest().isPresent() ? softRoce : specified;
  }

  /** A request that fails before it is sent is only flushed by Soft-RoCE since kernel 6.3. */
  private static CompletionStatus ofThisSide(
      CompletionStatus softRoce, CompletionStatus specified) {
    boolean old = Rig.labGuest().equals(Optional.of("bookworm"));
    return status(old ? softRoce : CompletionStatus.WR_FLUSH_ERR, specified);
  }

  @DeviceTest
  @On(
      value = {SOFT_ROCE, MLX5},
      reason = "the software device ends the request as specified")
  void tooShortReceiveFails() {
    try (Pair pair = impatient()) {
      receive(pair.b, 8, pair.b.memory.lkey());
      pair.a.run(
          send(pair, 64), status(CompletionStatus.REM_OP_ERR, CompletionStatus.REM_INV_REQ_ERR));
      pair.b.completion(status(CompletionStatus.LOC_QP_OP_ERR, CompletionStatus.LOC_LEN_ERR));
      recovers(pair, pair.a, pair.b);
    }
  }

  @DeviceTest
  @On(
      value = {SOFT_ROCE, MLX5},
      reason = "the software device ends the request as specified")
  void wrongLocalKeyFails() {
    try (Pair pair = impatient()) {
      pair.b.receive(1);
      SendList list = send(pair, 8);
      list.localUnchecked(0, 0, pair.a.memory.start(), 8, pair.a.memory.lkey() + 1);
      pair.a.run(list, ofThisSide(CompletionStatus.LOC_QP_OP_ERR, CompletionStatus.LOC_PROT_ERR));
      recovers(pair, pair.a);
    }
  }

  @DeviceTest
  @On(
      value = {SOFT_ROCE, MLX5},
      reason = "the software device ends the request as specified")
  void receiveWithAWrongLocalKeyFailsAtBothEnds() {
    try (Pair pair = impatient()) {
      receive(pair.b, 64, pair.b.memory.lkey() + 1);
      pair.a.run(send(pair, 8), CompletionStatus.REM_OP_ERR);
      pair.b.completion(status(CompletionStatus.LOC_QP_OP_ERR, CompletionStatus.LOC_PROT_ERR));
      recovers(pair, pair.a, pair.b);
    }
  }

  @DeviceTest
  void wrongRemoteKeyFails() {
    try (Pair pair = impatient()) {
      MemoryRegion target = pair.b.memory;
      SendList list = new SendList(1, 1);
      list.write(0).local(pair.a.memory, 0, 8).remote(target.start(), target.rkey() + 1).signaled();
      pair.a.run(list, CompletionStatus.REM_ACCESS_ERR);
      recovers(pair, pair.a, pair.b);
      list.remote(0, target.start() + target.length() - 4, target.rkey());
      pair.a.run(list, CompletionStatus.REM_ACCESS_ERR);
      recovers(pair, pair.a, pair.b);
    }
  }

  @DeviceTest
  @On(
      value = {SOFT_ROCE, MLX5},
      reason = "the software device ends the request as specified")
  void bindingABoundWindowFails() {
    try (Pair pair = impatient()) {
      MemoryRegion region = pair.a.page(AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND).register();
      MemoryWindow window = MemoryWindow.allocate(pair.a.domain, MemoryWindowType.TYPE_2);
      WindowBinding binding = new WindowBinding(region, 0, 64, Set.of(AccessFlag.REMOTE_READ));
      int rkey = MemoryWindow.nextKey(window.rkey());
      SendList list = new SendList(1, 0);
      list.bindMemoryWindow(0, window, rkey, binding).signaled();
      pair.a.run(list);
      list.bindMemoryWindow(0, window, MemoryWindow.nextKey(rkey), binding).signaled();
      pair.a.run(list, ofThisSide(CompletionStatus.MW_BIND_ERR, CompletionStatus.MW_BIND_ERR));
      recovers(pair, pair.a);
    }
  }

  @DeviceTest
  void sendWithoutReceiveExceedsTheRnrRetryCount() {
    try (Pair pair = impatient()) {
      pair.a.run(send(pair, 8), CompletionStatus.RNR_RETRY_EXC_ERR);
      recovers(pair, pair.a);
    }
  }

  @DeviceTest
  void sendWithoutPeerExceedsTheRetryCount() {
    try (Pair pair = impatient()) {
      pair.b.queuePair.reset();
      pair.a.run(send(pair, 8), CompletionStatus.RETRY_EXC_ERR);
      awaitError(pair.a);
      pair.a.run(send(pair, 8), CompletionStatus.WR_FLUSH_ERR);
      recovers(pair, pair.a);
    }
  }

  @DeviceTest
  void otherRequestsAreFlushed() {
    try (Pair pair = impatient()) {
      pair.b.receive(1);
      SendList list = new SendList(3, 1);
      list.write(0).id(0).local(pair.a.memory, 0, 8).remote(pair.b.memory.start(), 0).signaled();
      list.send(1).id(1).local(pair.a.memory, 0, 8);
      list.send(2).id(2).local(pair.a.memory, 0, 8).signaled();
      assertEquals(3, pair.a.queuePair.post(list));
      assertEquals(0, pair.a.completion(CompletionStatus.REM_ACCESS_ERR).id(0));
      assertEquals(
          1, pair.a.completion(CompletionStatus.WR_FLUSH_ERR).id(0), "unsignaled, yet told");
      assertEquals(2, pair.a.completion(CompletionStatus.WR_FLUSH_ERR).id(0));
      awaitError(pair.b);
      pair.b.queuePair.fail();
      assertEquals(1, pair.b.completion(CompletionStatus.WR_FLUSH_ERR).id(0));
      recovers(pair, pair.a);
    }
  }

  @DeviceTest
  void failuresAreDescribed() {
    try (Pair pair = impatient()) {
      assertEquals(1, pair.a.queuePair.post(send(pair, 8)));
      String text = pair.a.completion(CompletionStatus.RNR_RETRY_EXC_ERR).describe(0);
      assertTrue(text.contains("RNR retry counter exceeded"), text);
      assertTrue(text.contains("must post receive requests"), text);
    }
  }
}
