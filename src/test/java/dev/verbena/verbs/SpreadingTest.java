package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.MLX5;
import static dev.verbena.testing.DeviceKind.SOFTWARE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.flow.FlowRule;
import dev.verbena.flow.FlowType;
import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.Frames;
import dev.verbena.testing.On;
import dev.verbena.testing.RawEnd;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.ReceiveHash;
import dev.verbena.values.ReceiveHashField;
import dev.verbena.values.ReceiveHashFunction;
import dev.verbena.values.WorkQueueFlag;
import dev.verbena.values.WorkQueueState;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/** Receive side scaling (RSS) from one device to another: hash, table, work queues. */
@On(
    value = {SOFTWARE, MLX5},
    reason = "Soft-RoCE has no receive side scaling")
class SpreadingTest extends RawEndsFixture {
  /** The key of Microsoft's suite for the verification of RSS. */
  private static final byte[] KEY =
      HexFormat.of()
          .parseHex(
              "6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa");

  private final List<CompletionQueue> completions = new ArrayList<>();
  private final List<WorkQueue> queues = new ArrayList<>();

  /** A queue pair that spreads frames over four work queues. */
  private QueuePair spreading(ReceiveHashField... fields) {
    for (int i = 0; i < 4; i++) {
      CompletionQueue queue = b.context.createCompletionQueue(64);
      WorkQueue work = WorkQueue.builder(b.domain).completions(queue).maxRequests(64).create();
      work.modify(WorkQueueState.RDY);
      completions.add(queue);
      queues.add(work);
    }
    ReceiveIndirectionTable table = ReceiveIndirectionTable.create(b.context, queues);
    return QueuePair.builder(b.domain, QueuePairType.RAW_PACKET)
        .receiveSideScaling(
            table, new ReceiveHash(ReceiveHashFunction.TOEPLITZ, KEY, Set.of(fields)))
        .create();
  }

  private void receive(int queue, int count) {
    for (int i = 0; i < count; i++) {
      ReceiveList list = new ReceiveList(1, 1);
      list.id(0, queue);
      list.local(0, b.region, (long) queue * RawEnd.SLOT, RawEnd.SLOT);
      assertEquals(1, queues.get(queue).post(list));
    }
  }

  /** A completion of a work queue. */
  private record Done(int queue, CompletionStatus status, int number, long length) {}

  /** Waits for as many completions of all queues together; fails if there are more. */
  private List<Done> done(int count) {
    Completions batch = new Completions(64);
    List<Done> done = new ArrayList<>();
    Await.until(
        count + " completions",
        () -> {
          for (int queue = 0; queue < completions.size(); queue++) {
            int polled = completions.get(queue).poll(batch);
            for (int i = 0; i < polled; i++) {
              long length = batch.isSuccess(i) ? batch.byteLength(i) : 0;
              done.add(new Done(queue, batch.status(i), batch.queuePairNumber(i), length));
            }
          }
          return done.size() >= count;
        });
    assertEquals(count, done.size());
    return done;
  }

  /** Waits for as many frames, and returns which queues received them. */
  private List<Integer> received(int count) {
    return done(count).stream().map(Done::queue).toList();
  }

  @DeviceTest
  void flowsAreSpreadAndEachStaysInItsQueue() {
    QueuePair queuePair =
        spreading(
            ReceiveHashField.SRC_IPV4,
            ReceiveHashField.DST_IPV4,
            ReceiveHashField.SRC_PORT_UDP,
            ReceiveHashField.DST_PORT_UDP);
    FlowRule.on(queuePair, 1).type(FlowType.ALL_DEFAULT).create();
    for (int i = 0; i < 4; i++) {
      receive(i, 64);
    }
    Set<Integer> used = new TreeSet<>();
    for (int port = 0; port < 16; port++) {
      byte[] frame = Frames.udp(Frames.MAC, 0x4209_95bb, 0xa18e_6450, 2794, port, 8);
      a.send(frame);
      a.send(frame);
      List<Integer> received = received(2);
      assertEquals(received.getFirst(), received.getLast(), "one flow, one queue");
      used.addAll(received);
    }
    assertEquals(Set.of(0, 1, 2, 3), used);
    // 51ccc178 is for TCP as well; its lowest two bits are 0.
    a.send(Frames.udp(Frames.MAC, 0x4209_95bb, 0xa18e_6450, 2794, 1766, 8));
    assertEquals(List.of(0), received(1));
    // A frame without the fields has the hash 0.
    a.send(Frames.tcp(Frames.MAC, 0x4209_95bb, 0xa18e_6450, 1, 7, 8));
    assertEquals(List.of(0), received(1));
  }

  @DeviceTest
  void addressesAloneAreHashed() {
    FlowRule.on(spreading(ReceiveHashField.SRC_IPV4, ReceiveHashField.DST_IPV4), 1)
        .type(FlowType.SNIFFER)
        .create();
    receive(2, 1); // The hash is 323e8fc2.
    a.send(Frames.tcp(Frames.MAC, 0x4209_95bb, 0xa18e_6450, 1, 7, 8));
    assertEquals(List.of(2), received(1));
  }

  @DeviceTest
  void completionsNameTheWorkQueueAndFailedQueuesFlush() {
    FlowRule.on(spreading(), 1).type(FlowType.SNIFFER).create();
    receive(0, 3);
    a.send(Frames.udp(Frames.MAC, 1, 2, 3, 4, 5));
    WorkQueue first = queues.getFirst();
    assertEquals(first.number(), done(1).getFirst().number());
    first.modify(WorkQueueState.ERR);
    for (Done flushed : done(2)) {
      assertEquals(CompletionStatus.WR_FLUSH_ERR, flushed.status());
    }
    receive(0, 1);
    assertEquals(CompletionStatus.WR_FLUSH_ERR, done(1).getFirst().status(), "flushed at once");
    VerbsException ready =
        assertThrows(VerbsException.class, () -> first.modify(WorkQueueState.RDY));
    assertEquals(Errno.EINVAL, ready.errno());
    first.modify(WorkQueueState.RESET);
    first.modify(WorkQueueState.RDY);
    receive(0, 1);
    a.send(Frames.udp(Frames.MAC, 1, 2, 3, 4, 5));
    assertEquals(CompletionStatus.SUCCESS, done(1).getFirst().status());
  }

  @DeviceTest
  void tagsAreStrippedWhileTheQueueIsUsed() {
    FlowRule.on(spreading(), 1).type(FlowType.SNIFFER).create();
    receive(0, 2);
    byte[] frame = Frames.tagged(Frames.udp(Frames.MAC, 1, 2, 3, 4, 50), 7);
    queues.getFirst().modify(Set.of(WorkQueueFlag.CVLAN_STRIPPING), Set.of());
    a.send(frame);
    assertEquals(frame.length - 4, done(1).getFirst().length());
    queues.getFirst().modify(Set.of(), Set.of(WorkQueueFlag.CVLAN_STRIPPING));
    a.send(frame);
    assertEquals(frame.length, done(1).getFirst().length());
  }

  @DeviceTest
  void keyOfAnotherLengthThrows() {
    WorkQueue work = WorkQueue.builder(b.domain).completions(b.completions).create();
    ReceiveIndirectionTable table = ReceiveIndirectionTable.create(b.context, List.of(work));
    VerbsException e =
        assertThrows(
            VerbsException.class,
            () ->
                QueuePair.builder(b.domain, QueuePairType.RAW_PACKET)
                    .receiveSideScaling(
                        table, new ReceiveHash(ReceiveHashFunction.TOEPLITZ, new byte[8], Set.of()))
                    .create());
    assertEquals(Errno.EINVAL, e.errno());
  }
}
