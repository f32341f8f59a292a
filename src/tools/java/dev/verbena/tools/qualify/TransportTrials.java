package dev.verbena.tools.qualify;

import static dev.verbena.tools.qualify.Bench.HALF;
import static dev.verbena.tools.qualify.Bench.require;

import dev.verbena.attributes.AtomicScope;
import dev.verbena.attributes.DeviceAttributes;
import dev.verbena.attributes.DeviceCapability;
import dev.verbena.tools.qualify.Bench.Pair;
import dev.verbena.values.CompletionFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.values.SendOperation;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SharedReceiveQueue;
import dev.verbena.verbs.XrcDomain;
import java.lang.foreign.ValueLayout;
import java.util.List;

/** Trials of the operations of each transport. */
final class TransportTrials {
  private static final int LENGTH = 64;
  private static final int GRH = 40;
  private static final int IMMEDIATE = 0x1234_5678;

  private TransportTrials() {}

  static List<Capability> all() {
    return List.of(
        Capability.of("RC send", bench -> send(bench, QueuePairType.RC)),
        Capability.of("RC send, inline data", TransportTrials::sendInline),
        Capability.of("RC RDMA write", bench -> write(bench, QueuePairType.RC)),
        Capability.of("RC RDMA write with immediate", TransportTrials::writeWithImmediate),
        Capability.of("RC RDMA read", TransportTrials::read),
        new Capability(
            "RC fetch and add", TransportTrials::hasAtomics, TransportTrials::fetchAndAdd),
        new Capability(
            "RC compare and swap", TransportTrials::hasAtomics, TransportTrials::compareAndSwap),
        Capability.of("RC send by ibv_wr_*", TransportTrials::sendExtended),
        Capability.of("UC send", bench -> send(bench, QueuePairType.UC)),
        Capability.of("UC RDMA write", bench -> write(bench, QueuePairType.UC)),
        Capability.of("UD send", TransportTrials::datagram),
        new Capability(
            "shared receive queue",
            attributes -> attributes.maxSharedReceiveQueues() > 0,
            TransportTrials::sharedReceiveQueue),
        new Capability(
            "XRC send", attributes -> attributes.has(DeviceCapability.XRC), TransportTrials::xrc));
  }

  private static boolean hasAtomics(DeviceAttributes attributes) {
    return attributes.atomicScope() != AtomicScope.NONE;
  }

  private static void send(Bench bench, QueuePairType type) throws Exception {
    Pair pair = bench.pair(type);
    Completions received =
        bench.deliver(pair.queuePair(), bench.send(LENGTH), pair.peer(), 0, LENGTH);
    require(received.byteLength(0) == LENGTH, "byte_len " + received.byteLength(0));
  }

  private static void sendInline(Bench bench) throws Exception {
    QueuePair queuePair =
        bench
            .builder(QueuePairType.RC)
            .capacity(QueuePairCapacity.of(16).withMaxInlineData(LENGTH))
            .create();
    Pair pair = bench.connected(queuePair, bench.peerBuilder(QueuePairType.RC).create());
    bench.fill();
    SendList list = new SendList(1, 1, LENGTH);
    list.send(0).inline(bench.memory.memory().asSlice(0, LENGTH)).signaled();
    var _ = bench.deliver(queuePair, list, pair.peer(), 0, LENGTH);
  }

  private static void write(Bench bench, QueuePairType type) throws Exception {
    Pair pair = bench.pair(type);
    bench.fill();
    // The message tells that the write, which was posted before it, is done.
    bench.receive(pair.peer(), LENGTH);
    SendList list = new SendList(2, 1);
    list.write(0)
        .local(bench.memory, 0, LENGTH)
        .remote(bench.memory.start() + HALF + 1024, bench.memory.rkey());
    list.send(1).local(bench.memory, 0, LENGTH).signaled();
    var _ = bench.run(pair.queuePair(), list);
    var _ = bench.success(bench.peerCompletions);
    bench.requireArrived(1024, LENGTH);
  }

  private static void writeWithImmediate(Bench bench) throws Exception {
    Pair pair = bench.pair(QueuePairType.RC);
    SendList list = new SendList(1, 1);
    list.writeWithImmediate(0, IMMEDIATE)
        .local(bench.memory, 0, LENGTH)
        .remote(bench.memory.start() + HALF, bench.memory.rkey())
        .signaled();
    Completions received = bench.deliver(pair.queuePair(), list, pair.peer(), 0, LENGTH);
    require(received.has(0, CompletionFlag.WITH_IMM), "IBV_WC_WITH_IMM is not set");
    require(received.immediate(0) == IMMEDIATE, "another immediate value");
  }

  private static void read(Bench bench) throws Exception {
    Pair pair = bench.pair(QueuePairType.RC);
    bench.fill();
    var _ = bench.run(pair.queuePair(), bench.read(LENGTH));
    bench.requireArrived(0, LENGTH);
  }

  private static void fetchAndAdd(Bench bench) throws Exception {
    SendList list = new SendList(1, 1);
    list.fetchAndAdd(0, 2);
    atomic(bench, list, 42);
  }

  private static void compareAndSwap(Bench bench) throws Exception {
    SendList list = new SendList(1, 1);
    list.compareAndSwap(0, 40, 7);
    atomic(bench, list, 7);
  }

  private static void atomic(Bench bench, SendList list, long expected) throws Exception {
    Pair pair = bench.pair(QueuePairType.RC);
    bench.memory.memory().set(ValueLayout.JAVA_LONG, HALF, 40);
    list.local(0, bench.memory, 0, Long.BYTES);
    list.remote(0, bench.memory.start() + HALF, bench.memory.rkey());
    list.signaled(0);
    var _ = bench.run(pair.queuePair(), list);
    require(bench.memory.memory().get(ValueLayout.JAVA_LONG, 0) == 40, "another previous value");
    require(
        bench.memory.memory().get(ValueLayout.JAVA_LONG, HALF) == expected, "another new value");
  }

  private static void sendExtended(Bench bench) throws Exception {
    QueuePair queuePair =
        bench.builder(QueuePairType.RC).sendOperations(SendOperation.SEND).create();
    Pair pair = bench.connected(queuePair, bench.peerBuilder(QueuePairType.RC).create());
    bench.fill();
    bench.receive(pair.peer(), LENGTH);
    int posted =
        queuePair.startPosting().send().id(1).signaled().local(bench.memory, 0, LENGTH).complete();
    require(posted == 1, "the send queue is full");
    var _ = bench.success(bench.completions);
    var _ = bench.success(bench.peerCompletions);
    bench.requireArrived(0, LENGTH);
  }

  private static void datagram(Bench bench) throws Exception {
    QueuePair sender = bench.datagramQueuePair(bench.completions);
    QueuePair receiver = bench.datagramQueuePair(bench.peerCompletions);
    AddressHandle handle = bench.toItself();
    SendList list = bench.send(LENGTH);
    list.to(0, handle, receiver.number(), receiver.localAddress().queueKey());
    Completions received = bench.deliver(sender, list, receiver, GRH, LENGTH);
    require(received.byteLength(0) == GRH + LENGTH, "byte_len " + received.byteLength(0));
    require(received.sourceQueuePair(0) == sender.number(), "another src_qp");
  }

  private static void sharedReceiveQueue(Bench bench) throws Exception {
    SharedReceiveQueue queue = SharedReceiveQueue.create(bench.domain, 16);
    QueuePair peer = bench.peerBuilder(QueuePairType.RC).sharedReceiveQueue(queue).create();
    Pair pair = bench.connected(bench.builder(QueuePairType.RC).create(), peer);
    var _ = bench.deliver(pair.queuePair(), bench.send(LENGTH), queue, 0, LENGTH);
  }

  private static void xrc(Bench bench) throws Exception {
    XrcDomain xrc = XrcDomain.open(bench.context);
    SharedReceiveQueue queue =
        SharedReceiveQueue.builder(bench.domain, 4).xrc(xrc, bench.peerCompletions).create();
    QueuePair sender = bench.builder(QueuePairType.XRC_SEND).create();
    bench.connect(sender, QueuePair.builder(xrc).create());
    SendList list = bench.send(LENGTH);
    list.sharedReceiveQueue(0, queue.number());
    var _ = bench.deliver(sender, list, queue, 0, LENGTH);
  }
}
