package dev.verbena.verbs;

import static dev.verbena.testing.DeviceKind.MLX5;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.Await;
import dev.verbena.testing.DeviceTest;
import dev.verbena.testing.On;
import dev.verbena.testing.Rig;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import java.util.concurrent.FutureTask;

/**
 * A thread resets a queue pair and connects it again, while another one posts to it and polls by a
 * session.
 */
@On(value = MLX5, reason = "Soft-RoCE keeps requests that are posted in state RESET")
class SessionBesideResetTest {
  private static final int RESETS = 300;
  private static final int REQUESTS = 4;

  private final Context context = Rig.a().open();
  private final ProtectionDomain domain = context.allocateProtectionDomain();
  private final CompletionQueue queue = context.completionQueue(128).create();
  private final QueuePair pair =
      QueuePair.builder(domain, QueuePairType.RC)
          .completions(queue)
          .capacity(QueuePairCapacity.of(32))
          .create();
  private final MemoryRegion region =
      domain.allocateMemory(64, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
  private volatile boolean ends;

  /** The number of requests that were posted; their ids are the numbers below. */
  private long posted;

  private long last = -1;

  private QueuePairSession session() {
    QueuePairSession session = QueuePairSession.on(pair, queue, REQUESTS);
    for (int i = 0; i < REQUESTS; i++) {
      session.write(i, region.start(), region.rkey());
      session.signaled(i, true);
    }
    return session;
  }

  /** Posts and polls until {@link #ends}, and returns how often the state allowed no post. */
  private int run(QueuePairSession session) {
    int refused = 0;
    for (int tries = 0; !ends; tries++) {
      try {
        post(session);
      } catch (IllegalStateException e) {
        assertTrue(e.getMessage().contains("requires state RTS"), e.toString());
        refused++;
      }
      while (session.next()) {
        isNext(session);
      }
      Await.spin(tries);
    }
    return refused;
  }

  private void post(QueuePairSession session) {
    for (int i = 0; i < REQUESTS; i++) {
      session.local(i, posted + i, region, 0, 8);
    }
    posted += session.post(0, REQUESTS);
  }

  /** Requests that were posted before a reset have no completion; none has two. */
  private void isNext(QueuePairSession session) {
    assertTrue(session.isSuccess(), session::describe);
    long id = session.id();
    assertTrue(id > last && id < posted, () -> id + " after " + last + " of " + posted);
    last = id;
  }

  @DeviceTest
  void completionsAreInOrderAndTheQueueIsNotFullAfterwards() throws Exception {
    try (context) {
      pair.connect(pair.localAddress());
      FutureTask<Integer> task = new FutureTask<>(() -> fill(session()));
      Thread.ofPlatform().start(task);
      for (int i = 0; i < RESETS && !task.isDone(); i++) {
        pair.reset();
        pair.connect(pair.localAddress());
      }
      ends = true;
      assertEquals(pair.capacity().sendRequests(), task.get());
    }
  }

  /** Returns how many requests there is room for when all have completed. */
  private int fill(QueuePairSession session) {
    int refused = run(session);
    assertTrue(refused > 0, "no post was refused");
    session.local(0, posted, region, 0, 8);
    for (int tries = 0; session.post(0, 1) == 0; tries++) {
      if (session.next()) {
        isNext(session);
      }
      Await.spin(tries);
    }
    posted++;
    for (int tries = 0; last < posted - 1; tries++) {
      if (session.next()) {
        isNext(session);
      }
      Await.spin(tries);
    }
    int room = 0;
    while (session.post(0, 1) == 1) {
      room++;
    }
    return room;
  }
}
