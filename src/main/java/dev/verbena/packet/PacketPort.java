package dev.verbena.packet;

import dev.verbena.flow.FlowRule;
import dev.verbena.internal.CheckReturnValue;
import dev.verbena.util.ReceiveRing;
import dev.verbena.values.QueuePairAttributes;
import dev.verbena.values.QueuePairState;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionWaiter;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.Port;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.time.Duration;

/**
 * A port of a device for raw packets: the context, the protection domain, two completion queues
 * with a completion channel each, and the queue pair.
 *
 * <p>
 *
 * {@snippet :
 * try (PacketPort port = PacketPort.on(device, 1).receives(256).sendSges(1).receiveSges(2).open();
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
 * <p>The port receives only packets that match a flow rule: without one, not even packets to its
 * own address. A port is used by one thread at a time; after the start one thread may send while
 * another receives. Closing it closes all these objects, and everything that was created from them.
 */
public final class PacketPort implements AutoCloseable {
  /** Selects the maximum of the device instead of a number. */
  public static final int DEVICE_MAXIMUM = -1;

  /** The maximum number of completions of one poll. */
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
   * {@return a builder of a packet port}
   *
   * @param device the device
   * @param number the port number, 1 for the first port
   */
  public static PacketPortBuilder on(Device device, int number) {
    return new PacketPortBuilder(device, number);
  }

  /** {@return the port} */
  public Port port() {
    return port;
  }

  /** {@return the context, which is closed with this port} */
  public Context context() {
    return port.context();
  }

  /** {@return the protection domain} */
  public ProtectionDomain domain() {
    return queuePair.domain();
  }

  /** {@return the queue pair, whose capacity is the actual one} */
  public QueuePair queuePair() {
    return queuePair;
  }

  /** {@return the completion queue of the send requests, with a completion channel of its own} */
  public CompletionQueue sendCompletionQueue() {
    return sendQueue;
  }

  /**
   * {@return the completion queue of the receive requests, with a completion channel of its own}
   */
  public CompletionQueue receiveCompletionQueue() {
    return receiveQueue;
  }

  /** {@return the completions of the last {@link #awaitSent}, the same object each time} */
  public Completions sent() {
    return sent;
  }

  /** {@return the completions of the last {@link #awaitReceived}, the same object each time} */
  public Completions received() {
    return received;
  }

  /** {@return a builder of a flow rule whose packets this port receives} */
  public FlowRule.Builder flow() {
    return FlowRule.on(queuePair, port.number());
  }

  /**
   * {@return a builder of memory for packets}
   *
   * @param count the number of packets
   */
  public PacketBuffers.Builder packets(int count) {
    return new PacketBuffers.Builder(domain(), count);
  }

  /**
   * Posts receive requests, then transitions the queue pair to RTR if it is not yet.
   *
   * @param receives the receive requests; their ids are set to their indices
   * @return the ring that posts them again
   * @throws IllegalStateException if the queue cannot hold all requests, or the queue pair is in an
   *     error state
   */
  public ReceiveRing startReceiving(ReceiveList receives) {
    raise(QueuePairState.INIT);
    ReceiveRing ring = new ReceiveRing(queuePair, receives);
    ring.start();
    raise(QueuePairState.RTR);
    return ring;
  }

  /**
   * Transitions the queue pair to RTS if it is not yet, then posts send requests. After that they
   * can be posted to the queue pair: {@link QueuePair#post(SendList)}.
   *
   * @param sends the send requests
   * @return the number of requests that were posted; less than all if the queue is full
   * @throws IllegalStateException if the queue pair is in an error state
   */
  @CheckReturnValue
  public int startSending(SendList sends) {
    raise(QueuePairState.RTS);
    return queuePair.post(sends);
  }

  /** Transitions the queue pair to a state, unless it is in this or a later one. */
  private void raise(QueuePairState target) {
    QueuePairState state = queuePair.state();
    if (state == QueuePairState.RESET) {
      queuePair.setup().port(port.number()).init();
      state = QueuePairState.INIT;
    }
    if (state == QueuePairState.INIT && target != QueuePairState.INIT) {
      queuePair.modify(QueuePairAttributes.toReadyToReceive(queuePair.type()).build());
      state = QueuePairState.RTR;
    }
    if (state == QueuePairState.RTR && target == QueuePairState.RTS) {
      QueuePairAttributes.Builder last = QueuePairAttributes.toReadyToSend(queuePair.type());
      queuePair.modify((queuePair.type() == QueuePairType.UD ? last.sendPsn(0) : last).build());
    }
    if (state == QueuePairState.ERR) {
      throw new IllegalStateException(
          queuePair + " is in an error state: reset it and start again");
    }
  }

  /**
   * Waits for completions of send requests: polls for some time, then waits for an event.
   *
   * @param timeout the maximum time to wait
   * @return the number of completions in {@link #sent}; 0 if the timeout elapsed
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the port is closed, also during the wait
   */
  public int awaitSent(Duration timeout) throws InterruptedException {
    return sendWaiter.poll(sent, timeout);
  }

  /**
   * Waits for packets: polls for some time, then waits for an event.
   *
   * @param timeout the maximum time to wait
   * @return the number of completions in {@link #received}; 0 if the timeout elapsed
   * @throws InterruptedException if the thread is interrupted
   * @throws IllegalStateException if the port is closed, also during the wait
   */
  public int awaitReceived(Duration timeout) throws InterruptedException {
    return receiveWaiter.poll(received, timeout);
  }

  /** Closes the context that this port opened, and everything that was created from it. */
  @Override
  public void close() {
    context().close();
  }

  @Override
  public String toString() {
    return "port %d of %s%s"
        .formatted(port.number(), context().device(), context().isOpen() ? "" : " (closed)");
  }
}
