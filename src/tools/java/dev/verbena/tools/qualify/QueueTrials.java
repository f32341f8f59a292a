package dev.verbena.tools.qualify;

import static dev.verbena.tools.qualify.Bench.require;

import dev.verbena.address.Gid;
import dev.verbena.attributes.DeviceCapability;
import dev.verbena.attributes.TransportType;
import dev.verbena.flow.FlowCounters;
import dev.verbena.tools.qualify.Bench.Pair;
import dev.verbena.values.CompletionField;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SharedReceiveQueue;
import dev.verbena.verbs.ThreadDomain;
import dev.verbena.verbs.WorkQueue;
import java.time.Duration;
import java.util.List;
import java.util.Objects;

/** Trials of completion queues, other queues, and the errors of work requests. */
final class QueueTrials {
  private static final int LENGTH = 64;

  private QueueTrials() {}

  static List<Capability> all() {
    return List.of(
        Capability.of("completion event", QueueTrials::completionEvent),
        Capability.of("completion queue, resized", QueueTrials::resize),
        Capability.of(
            "extended completion queue",
            bench -> exchange(bench, bench.context.completionQueue(64).createExtended())),
        new Capability(
            "completion timestamps",
            attributes -> attributes.completionTimestampMask() != 0,
            QueueTrials::timestamps),
        new Capability(
            "device clock",
            attributes -> attributes.coreClockKilohertz() > 0,
            bench -> require(bench.context.rawClock() != 0, "the clock is 0")),
        new Capability(
            "completion moderation",
            attributes -> attributes.completionModeration().maxCount() > 0,
            bench -> bench.completions.moderate(4, Duration.ofNanos(16_000))),
        new Capability(
            "shared receive queue, resized",
            attributes -> attributes.has(DeviceCapability.SRQ_RESIZE),
            bench -> SharedReceiveQueue.create(bench.domain, 16).resize(32)),
        new Capability(
            "shared receive queue, limit",
            attributes -> attributes.maxSharedReceiveQueues() > 0,
            QueueTrials::limit),
        Capability.of("queue pair, SQD", QueueTrials::drain),
        Capability.of("thread domain", bench -> ThreadDomain.allocate(bench.context).close()),
        new Capability(
            "multicast, attach and detach",
            attributes -> attributes.maxMulticastGroups() > 0,
            QueueTrials::multicast),
        new Capability(
            "receive work queue",
            attributes -> attributes.maxReceiveWorkQueues() > 0,
            bench ->
                WorkQueue.builder(bench.domain)
                    .completions(bench.completions)
                    .maxRequests(16)
                    .create()),
        Capability.of(
            "raw packet queue pair", bench -> bench.builder(QueuePairType.RAW_PACKET).create()),
        new Capability(
            "tag matching",
            attributes -> attributes.tagMatching().maxTags() > 0,
            bench ->
                SharedReceiveQueue.builder(bench.domain, 16)
                    .tagMatching(bench.completions)
                    .maxTags(4)
                    .maxTagOperations(4)
                    .create()),
        Capability.of("flow counters", bench -> FlowCounters.on(bench.context).close()),
        Capability.of("error: wrong remote key", QueueTrials::wrongRemoteKey),
        Capability.of("error: receive too short", QueueTrials::shortReceive),
        Capability.of("error: no receive", QueueTrials::noReceive),
        Capability.of("error: requests are flushed", QueueTrials::flush));
  }

  private static void completionEvent(Bench bench) throws Exception {
    CompletionChannel channel = bench.context.createCompletionChannel();
    CompletionQueue queue = bench.context.completionQueue(64).channel(channel).create();
    QueuePair peer = bench.builder(QueuePairType.RC).completions(queue).create();
    Pair pair = bench.connected(bench.builder(QueuePairType.RC).create(), peer);
    queue.requestNotification();
    bench.receive(peer, LENGTH);
    var _ = bench.run(pair.queuePair(), bench.send(LENGTH));
    require(Objects.equals(channel.poll(Duration.ofSeconds(5)), queue), "no event within 5 s");
    var _ = bench.success(queue);
  }

  private static void resize(Bench bench) {
    bench.completions.resize(256);
    require(bench.completions.capacity() >= 256, "it has " + bench.completions.capacity());
  }

  private static void timestamps(Bench bench) throws Exception {
    exchange(
        bench,
        bench.context.completionQueue(64).createExtended(CompletionField.COMPLETION_TIMESTAMP));
  }

  private static void exchange(Bench bench, CompletionQueue queue) throws Exception {
    QueuePair queuePair = bench.builder(QueuePairType.RC).completions(queue).create();
    Pair pair = bench.connected(queuePair, bench.peerBuilder(QueuePairType.RC).create());
    bench.receive(pair.peer(), LENGTH);
    bench.post(queuePair, bench.send(LENGTH));
    var _ = bench.success(queue);
    var _ = bench.success(bench.peerCompletions);
  }

  private static void limit(Bench bench) {
    SharedReceiveQueue queue = SharedReceiveQueue.create(bench.domain, 16);
    // With fewer receives than the limit, the event would come at once and clear it.
    for (int i = 0; i < 8; i++) {
      bench.receive(queue, LENGTH);
    }
    queue.limit(3);
    require(queue.query().limit() == 3, "the limit is " + queue.query().limit());
  }

  private static void drain(Bench bench) {
    Pair pair = bench.pair(QueuePairType.RC);
    pair.queuePair().startDraining();
    require(pair.queuePair().state() == QueuePairState.SQD, "" + pair.queuePair().state());
  }

  private static void multicast(Bench bench) {
    require(
        bench.context.device().transportType() == TransportType.IB,
        "tried on InfiniBand and RoCE only");
    QueuePair queuePair = bench.datagramQueuePair(bench.completions);
    var group = Gid.parse("ff0e::1:2345");
    queuePair.attachMulticast(group, 0);
    queuePair.detachMulticast(group, 0);
  }

  private static void wrongRemoteKey(Bench bench) throws Exception {
    Pair pair = bench.pair(QueuePairType.RC);
    int wrong = bench.memory.rkey() ^ 0x5500;
    bench.post(pair.queuePair(), bench.write(LENGTH, bench.memory.start(), wrong));
    var _ = bench.completion(bench.completions, CompletionStatus.REM_ACCESS_ERR);
  }

  private static void shortReceive(Bench bench) throws Exception {
    Pair pair = bench.pair(QueuePairType.RC);
    bench.receive(pair.peer(), LENGTH / 2);
    bench.post(pair.queuePair(), bench.send(LENGTH));
    var _ = bench.completion(bench.completions, CompletionStatus.REM_INV_REQ_ERR);
    var _ = bench.completion(bench.peerCompletions, CompletionStatus.LOC_LEN_ERR);
  }

  private static void noReceive(Bench bench) throws Exception {
    Pair pair = bench.pair(QueuePairType.RC);
    bench.post(pair.queuePair(), bench.send(LENGTH));
    var _ = bench.completion(bench.completions, CompletionStatus.RNR_RETRY_EXC_ERR);
  }

  private static void flush(Bench bench) throws Exception {
    Pair pair = bench.pair(QueuePairType.RC);
    bench.receive(pair.peer(), LENGTH);
    pair.peer().fail();
    Completions flushed = bench.completion(bench.peerCompletions, CompletionStatus.WR_FLUSH_ERR);
    require(flushed.queuePairNumber(0) == pair.peer().number(), "another qp_num");
  }
}
