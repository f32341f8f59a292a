package dev.verbena.packet;

import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionWaiter;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.FlowRule;
import dev.verbena.verbs.Port;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.QueuePairType;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.ReceiveRing;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.ToReadyToSend;
import java.time.Duration;

/**
 * A port of a device, open for raw packets, with all that it takes: context, protection domain, two
 * completion queues with a channel each, and a queue pair.
 *
 * <p>
 *
 * {@snippet :
 * try (PacketPort port = PacketPort.on(device, 1).receives(256).entries(1, 2).open();
 *     PacketBuffers packets = port.packets(256).fragment(42, 22).fragment(1024, 0).create();
 *     FlowRule rule =
 *         port.flow()
 *             .match(FlowMatch.ethernet().type(0x0800))
 *             .match(FlowMatch.ipv4())
 *             .match(FlowMatch.udp().destination(4000))
 *             .create()) {
 *   ReceiveRing ring = port.startReceiving(packets.receives(256));
 *   while (port.awaitReceived(Duration.ofSeconds(2)) > 0) {
 *     ring.handle(
 *         port.received(),
 *         (batch, i, request) -> {
 *           consume(packets.fragment(request, 1), batch.byteLength(i));
 *           return true; // post it again
 *         });
 *   }
 * }
 * }
 *
 * <p>Nothing arrives without a rule, not even packets for the port's own address. Closing the port
 * closes all of it, and what was made on it. A port is used by one thread at a time; once started,
 * one may send while another receives.
 */
public final class PacketPort implements AutoCloseable {
  /** In place of a number: as much as the device can do. */
  public static final int DEVICE_MAXIMUM = -1;

  /** How many completions are taken at a time. */
  private static final int BATCH = 256;

  private static final Duration SPIN = Duration.ofNanos(50_000);

  private final Port port;
  private final QueuePair queuePair;
  private final CompletionQueue sendQueue;
  private final CompletionQueue receiveQueue;
  private final Completions sent;
  private final Completions received;
  private final CompletionWaiter sendWaiter;
  private final CompletionWaiter receiveWaiter;

  PacketPort(
      Port port, QueuePair queuePair, CompletionQueue sendQueue, CompletionQueue receiveQueue) {
    this.port = port;
    this.queuePair = queuePair;
    this.sendQueue = sendQueue;
    this.receiveQueue = receiveQueue;
    this.sent = new Completions(Math.min(sendQueue.capacity(), BATCH));
    this.received = new Completions(Math.min(receiveQueue.capacity(), BATCH));
    this.sendWaiter = new CompletionWaiter(sendQueue, SPIN);
    this.receiveWaiter = new CompletionWaiter(receiveQueue, SPIN);
  }

  /**
   * Prepares to open a port.
   *
   * @param device its device
   * @param number which port; the first is 1
   * @return what can be asked for
   */
  public static PacketPortBuilder on(Device device, int number) {
    return new PacketPortBuilder(device, number);
  }

  /**
   * The port, which knows its number and its state.
   *
   * @return the port
   */
  public Port port() {
    return port;
  }

  /**
   * The open device.
   *
   * @return the context, which is closed with this port
   */
  public Context context() {
    return port.context();
  }

  /**
   * Where memory is registered.
   *
   * @return the protection domain
   */
  public ProtectionDomain domain() {
    return queuePair.domain();
  }

  /**
   * What packets are posted to; its capacity is what the device really gave.
   *
   * @return the queue pair
   */
  public QueuePair queuePair() {
    return queuePair;
  }

  /**
   * Where sends complete.
   *
   * @return a queue with a channel of its own
   */
  public CompletionQueue sendCompletionQueue() {
    return sendQueue;
  }

  /**
   * Where receives complete.
   *
   * @return a queue with a channel of its own
   */
  public CompletionQueue receiveCompletionQueue() {
    return receiveQueue;
  }

  /**
   * What {@link #awaitSent} took last.
   *
   * @return the same object each time
   */
  public Completions sent() {
    return sent;
  }

  /**
   * What {@link #awaitReceived} took last.
   *
   * @return the same object each time
   */
  public Completions received() {
    return received;
  }

  /**
   * Prepares a rule that brings packets of this port here.
   *
   * @return a rule without headers, to be made
   */
  public FlowRule.Builder flow() {
    return queuePair.flowRule(port.number());
  }

  /**
   * Prepares memory for packets.
   *
   * @param count how many packets
   * @return buffers without fragments, to be made
   */
  public PacketBuffers.Builder packets(int count) {
    return new PacketBuffers.Builder(domain(), count);
  }

  /**
   * Posts receives for the first time, and then lets the queue pair receive, if it did not yet.
   *
   * @param receives what to post; their ids are set to their indices
   * @return what posts them again
   * @throws IllegalStateException if the queue has no room for all, or the queue pair has failed
   */
  public ReceiveRing startReceiving(ReceiveList receives) {
    raise(QueuePairState.INIT);
    ReceiveRing ring = new ReceiveRing(queuePair, receives);
    ring.start();
    raise(QueuePairState.RTR);
    return ring;
  }

  /**
   * Lets the queue pair send, if it did not yet, and then posts sends. From then on the queue pair
   * takes them itself: {@link QueuePair#post(SendList)}.
   *
   * @param sends what to post
   * @return how many were taken; fewer than there are if the queue is full
   * @throws IllegalStateException if the queue pair has failed
   */
  public int startSending(SendList sends) {
    raise(QueuePairState.RTS);
    return queuePair.post(sends);
  }

  /** Moves the queue pair to a state, unless it is there or further already. */
  private void raise(QueuePairState target) {
    QueuePairState state = queuePair.state();
    if (state == QueuePairState.RESET) {
      queuePair.setup().port(port.number()).init();
      state = QueuePairState.INIT;
    }
    if (state == QueuePairState.INIT && target != QueuePairState.INIT) {
      queuePair.toReadyToReceive().apply();
      state = QueuePairState.RTR;
    }
    if (state == QueuePairState.RTR && target == QueuePairState.RTS) {
      ToReadyToSend last = queuePair.toReadyToSend();
      (queuePair.type() == QueuePairType.UD ? last.sendPsn(0) : last).apply();
    }
    if (state == QueuePairState.ERR) {
      throw new IllegalStateException(queuePair + " has failed: reset it, and start again");
    }
  }

  /**
   * Waits a while for sends to complete: spins shortly, then sleeps.
   *
   * @param timeout how long at most
   * @return how many completions are in {@link #sent}; 0 if none came in time
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the port is closed, be it during the wait
   */
  public int awaitSent(Duration timeout) throws InterruptedException {
    return sendWaiter.poll(sent, timeout);
  }

  /**
   * Waits a while for packets: spins shortly, then sleeps.
   *
   * @param timeout how long at most
   * @return how many completions are in {@link #received}; 0 if none came in time
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the port is closed, be it during the wait
   */
  public int awaitReceived(Duration timeout) throws InterruptedException {
    return receiveWaiter.poll(received, timeout);
  }

  /** Closes the device as this port has opened it, and all that was made on it. */
  @Override
  public void close() {
    context().close();
  }

  @Override
  public String toString() {
    return "port " + port.number() + " of " + context().device();
  }
}
