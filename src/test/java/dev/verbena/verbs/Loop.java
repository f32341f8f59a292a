package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.testing.Await;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import java.lang.foreign.Arena;

/** Two connected queue pairs of one device, with one queue and one region for both. */
final class Loop implements AutoCloseable {
  static final int SIZE = 4096;
  static final int HALF = SIZE / 2;

  private static final int REQUESTS = 128;

  final Context context;
  final ProtectionDomain pd;
  final CompletionQueue cq;
  final QueuePair qp;
  final QueuePair peer;
  final Arena arena = Arena.ofShared();
  final MemoryRegion region;
  private final SendList sends = new SendList(1, 1);
  private final ReceiveList receives = new ReceiveList(1, 1);
  final Completions completions = new Completions(REQUESTS);

  Loop() {
    this(Rig.a().open(), null);
  }

  /** Announces its completions on a channel, where there is one. */
  Loop(Context context, CompletionChannel channel) {
    this.context = context;
    pd = context.allocateProtectionDomain();
    var builder = context.completionQueue(4 * REQUESTS); // Sends and receives of both.
    cq = (channel == null ? builder : builder.channel(channel)).create();
    qp = queuePair();
    peer = queuePair();
    region =
        pd.registerMemory(
            arena.allocate(SIZE),
            AccessFlag.LOCAL_WRITE,
            AccessFlag.REMOTE_READ,
            AccessFlag.REMOTE_WRITE,
            AccessFlag.MW_BIND);
    qp.connect(peer.localAddress());
    peer.connect(qp.localAddress());
  }

  private QueuePair queuePair() {
    return QueuePair.builder(pd, QueuePairType.RC)
        .completions(cq)
        .capacity(QueuePairCapacity.of(REQUESTS))
        .create();
  }

  /** Sends a message, of which only the receive completes. */
  void send(long id, boolean solicited) {
    receives.id(0, id);
    receives.local(0, region, HALF, 64);
    assertEquals(1, peer.post(receives));
    SendRequest send = sends.send(0).id(id).local(region, 0, 64);
    if (solicited) {
      send.solicited();
    }
    assertEquals(1, qp.post(sends));
  }

  /** Polls until so many completions are there, all good. */
  void complete(int count) {
    complete(count, CompletionStatus.SUCCESS);
  }

  void complete(int count, CompletionStatus status) {
    int[] done = {0};
    Await.until(
        () -> done[0] + " of " + count + " completed",
        () -> {
          int polled = cq.poll(completions, count - done[0]);
          for (int i = 0; i < polled; i++) {
            assertEquals(status, completions.status(i), () -> completions.describe(0));
          }
          done[0] += polled;
          return done[0] >= count;
        });
  }

  @Override
  public void close() {
    context.close();
    arena.close();
  }
}
