package dev.verbena.internal.foreign;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Two threads store, then load what the other stores: one of them sees the other. */
@SuppressWarnings("UnusedVariable") // The fields are read by their handles.
class ThreadBarrierTest {
  private static final int ROUNDS = 20_000;
  private static final VarHandle QUICK = field("quick");
  private static final VarHandle SLOW = field("slow");

  /** What the thread without a barrier stores, and what it then finds. */
  private int quick;

  private int found;

  /** What the thread with the barrier stores. */
  private int slow;

  private volatile int begun;
  private volatile int ended;

  private static VarHandle field(String name) {
    try {
      return MethodHandles.lookup().findVarHandle(ThreadBarrierTest.class, name, int.class);
    } catch (ReflectiveOperationException e) {
      throw new LinkageError(name, e);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"run", "handshake"})
  void oneOfTwoThreadsSeesTheOther(String barrier) throws Exception {
    Runnable slowSide = barrier.equals("run") ? ThreadBarrier::run : ThreadBarrier::handshake;
    var quickSide = new FutureTask<>(this::storeThenLoad, null);
    Thread.ofPlatform().daemon().start(quickSide);
    for (int round = 1; round <= ROUNDS; round++) {
      begun = round;
      SLOW.setOpaque(this, round);
      slowSide.run();
      int seen = (int) QUICK.getOpaque(this);
      while (ended < round) {
        Thread.onSpinWait();
      }
      assertTrue(seen == round || found == round, "neither saw the other in round " + round);
    }
    quickSide.get();
  }

  private void storeThenLoad() {
    for (int round = 1; round <= ROUNDS; round++) {
      while (begun < round) {
        Thread.onSpinWait();
      }
      QUICK.setOpaque(this, round);
      found = (int) SLOW.getOpaque(this);
      ended = round;
    }
  }
}
