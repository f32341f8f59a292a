package dev.verbena.efa;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.address.AddressVector;
import dev.verbena.address.GlobalRoute;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.testing.Await;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveList;

/** One of two devices, with an SRD queue pair in state RTS, memory and a completion queue. */
final class SrdSide implements AutoCloseable {
  static final int SIZE = 1 << 16;
  static final int DEPTH = 16;

  final Context context;
  final EfaDevice efa;
  final ProtectionDomain domain;
  final MemoryRegion memory;
  final EfaCompletionQueue completions;
  final QueuePair queuePair;
  private final Completions completion = new Completions(1);

  SrdSide(Device device, EfaQueuePairFlag... flags) {
    this(device, 1, flags);
  }

  SrdSide(Device device, int rnrRetries, EfaQueuePairFlag... flags) {
    context = device.open();
    try {
      efa = Rig.orSkip(() -> EfaDevice.of(context));
      domain = context.allocateProtectionDomain();
      memory =
          domain.allocateMemory(
              SIZE, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE);
      completions = efa.createCompletionQueue(context.completionQueue(4 * DEPTH));
      queuePair =
          efa.queuePair(domain, flags)
              .completions(completions.queue())
              .capacity(
                  QueuePairCapacity.of(DEPTH)
                      .withSendSges(2)
                      .withReceiveSges(2)
                      .withMaxInlineData(32))
              .create();
    } catch (Throwable t) {
      context.close();
      throw t;
    }
    queuePair.setup().rnrRetryCount(rnrRetries);
    queuePair.activate();
  }

  QueuePairAddress address() {
    return queuePair.localAddress();
  }

  AddressHandle handleFor(SrdSide remote) {
    return domain.createAddressHandle(
        AddressVector.global(1, new GlobalRoute(remote.address().gid(), 0)));
  }

  void receive(long id, int offset, int length) {
    ReceiveList receives = new ReceiveList(1, 1);
    receives.id(0, id);
    receives.local(0, memory, offset, length);
    assertEquals(1, queuePair.post(receives));
  }

  /** Waits for a completion. */
  Completions completion() {
    Await.until("a completion", () -> completions.queue().poll(completion) == 1);
    return completion;
  }

  void expect(CompletionStatus status) {
    assertEquals(status, completion().status(0));
  }

  @Override
  public void close() {
    context.close();
  }
}
