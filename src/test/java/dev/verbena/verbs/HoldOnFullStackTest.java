package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.internal.life.Core;
import dev.verbena.internal.life.DataPathEntry;
import dev.verbena.internal.life.DataPathUser;
import dev.verbena.raw.ibv_qp;
import dev.verbena.testing.ForkedJvm;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;

/** A full stack of a thread that calls C with an object: the object can be closed afterwards. */
class HoldOnFullStackTest {
  @Test
  void objectIsClosedInCodeOfTheFirstCompiler() {
    assertEquals("closed", lastLine("-XX:TieredStopAtLevel=1", Overflowing.class));
  }

  @Test
  void objectIsClosedInCodeOfBothCompilers() {
    assertEquals("closed", lastLine("-XX:+TieredCompilation", Overflowing.class));
  }

  @Test
  void objectOfACallOfTheDataPathIsClosed() {
    assertEquals("closed", lastLine("-XX:+TieredCompilation", OverflowingCall.class));
  }

  private static String lastLine(String option, Class<?> main) {
    return new ForkedJvm()
        .with("-Xss256k", option)
        .withNativeAccess()
        .withJarOf(ibv_qp.class)
        .run(main)
        .succeeded()
        .strip()
        .lines()
        .toList()
        .getLast();
  }

  /** Uses an object at every depth of the stack. */
  static final class Overflowing extends Resource {
    private static final int ROUNDS = 200;

    private Overflowing(Core core) {
      super(core);
    }

    public static void main(String[] args) {
      for (int i = 0; i < ROUNDS; i++) {
        Overflowing resource = Core.borrow(List.of(), 0, Overflowing::new);
        if (!resource.overflows(i)) {
          throw new AssertionError("no overflow");
        }
        if (resource.core.isUsed()) {
          throw new AssertionError("round " + i + ": a call that has ended prevents the close");
        }
        resource.core.close(Duration.ZERO);
      }
      System.out.println("closed");
    }

    private boolean overflows(int round) {
      try {
        descend(round);
        return false;
      } catch (StackOverflowError e) {
        return true;
      }
    }

    /** Begins at another depth in each round. */
    private void descend(int levels) {
      if (levels > 0) {
        descend(levels - 1);
      } else {
        use();
      }
    }

    @SuppressWarnings("InfiniteRecursion") // Until the stack is full.
    private void use() {
      core.hold();
      core.endHold();
      use();
    }
  }

  /** Calls C with a list at every depth of the stack, in a thread that goes on afterwards. */
  static final class OverflowingCall extends Resource {
    private static final int ROUNDS = 2000;
    private final DataPathUser user = new DataPathUser(this);

    private OverflowingCall(Core core) {
      super(core);
    }

    public static void main(String[] args) throws Exception {
      for (int i = 0; i < ROUNDS; i++) {
        OverflowingCall resource = Core.borrow(List.of(), 0, OverflowingCall::new);
        int levels = i % 64;
        FutureTask<Boolean> task = new FutureTask<>(() -> resource.overflows(levels));
        try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
          thread.execute(task);
          if (!task.get()) {
            throw new AssertionError("no overflow");
          }
          resource.core.close(Duration.ZERO);
        }
      }
      System.out.println("closed");
    }

    private boolean overflows(int levels) {
      try {
        descend(levels);
        return false;
      } catch (StackOverflowError e) {
        return true;
      }
    }

    private void descend(int levels) {
      if (levels > 0) {
        descend(levels - 1);
      } else {
        use();
      }
    }

    private static int call(int levels) {
      return levels == 0 ? 0 : call(levels - 1) + 1;
    }

    @SuppressWarnings("InfiniteRecursion") // Until the stack is full.
    private void use() {
      DataPathEntry entry = user.enter();
      try {
        user.use(core);
        call(4);
      } finally {
        entry.leave();
      }
      use();
    }
  }
}
