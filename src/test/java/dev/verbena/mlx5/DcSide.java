package dev.verbena.mlx5;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.testing.Await;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.AckTimeout;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SharedReceiveQueue;
import java.time.Duration;

/** One of two devices, with a DC initiator, a DC target, memory and a completion queue. */
final class DcSide implements AutoCloseable {
  static final int SIZE = 1 << 16;
  static final int DEPTH = 16;
  static final long KEY = 0x1122_3344_5566_7788L;

  final Context context;
  final Mlx5Device mlx5;
  final ProtectionDomain domain;
  final MemoryRegion memory;
  final CompletionQueue completions;
  final QueuePair initiator;
  final SharedReceiveQueue received;
  final QueuePair target;
  private final Completions completion = new Completions(1);

  DcSide(Device device) {
    context = device.open();
    try {
      mlx5 = Rig.orSkip(() -> Mlx5Device.of(context));
      domain = context.allocateProtectionDomain();
      memory =
          domain.allocateMemory(
              SIZE,
              AccessFlag.LOCAL_WRITE,
              AccessFlag.REMOTE_READ,
              AccessFlag.REMOTE_WRITE,
              AccessFlag.REMOTE_ATOMIC);
      completions = context.createCompletionQueue(8 * DEPTH);
      initiator = Rig.orSkip(this::newInitiator);
      received = SharedReceiveQueue.create(domain, DEPTH);
      target = newTarget(received, KEY);
    } catch (Throwable t) {
      context.close();
      throw t;
    }
    initiator.activate();
    target.activate();
  }

  /** In state RESET. */
  QueuePair newInitiator() {
    QueuePair made =
        mlx5.dcInitiator(domain)
            .sendCompletions(completions)
            .capacity(QueuePairCapacity.of(DEPTH).withSendSges(2).withMaxInlineData(32))
            .create();
    made.setup()
        .rnrRetryCount(1)
        .retryCount(1)
        .ackTimeout(AckTimeout.atLeast(Duration.ofMillis(1)));
    return made;
  }

  /** In state RTS, and repeats requests. */
  QueuePair patientInitiator() {
    return patient(newInitiator());
  }

  /** Activates an initiator, which repeats requests. */
  QueuePair patient(QueuePair made) {
    made.setup()
        .retryCount(7)
        .rnrRetryCount(7)
        .ackTimeout(AckTimeout.atLeast(Duration.ofMillis(100)));
    made.activate();
    return made;
  }

  /** In state RESET. */
  QueuePair newTarget(SharedReceiveQueue queue, long key) {
    return mlx5.dcTarget(domain, key)
        .receiveCompletions(completions)
        .sharedReceiveQueue(queue)
        .create();
  }

  AddressHandle handleFor(DcSide remote) {
    return domain.createAddressHandle(initiator.setup().pathTo(remote.target.localAddress()));
  }

  void receive(long id, int offset, int length) {
    receive(received, id, offset, length);
  }

  void receive(SharedReceiveQueue queue, long id, int offset, int length) {
    ReceiveList receives = new ReceiveList(1, 1);
    receives.id(0, id);
    receives.local(0, memory, offset, length);
    assertEquals(1, queue.post(receives));
  }

  /** Waits for a completion. */
  Completions completion() {
    Await.until("a completion", () -> completions.poll(completion) == 1);
    return completion;
  }

  void expect(CompletionStatus status) {
    assertEquals(status, completion().status(0));
  }

  /** After a failed request. */
  void recover() {
    initiator.reset();
    initiator.activate();
  }

  @Override
  public void close() {
    context.close();
  }
}
