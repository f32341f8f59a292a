package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.internal.life.Core;
import dev.verbena.raw.ibv_qp;
import dev.verbena.testing.ForkedJvm;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A full stack of a thread that calls C with an object: the object can be closed afterwards. */
class HoldOnFullStackTest {
  @Test
  void objectIsClosedInCodeOfTheFirstCompiler() {
    assertEquals("closed", lastLine("-XX:TieredStopAtLevel=1"));
  }

  @Test
  void objectIsClosedInCodeOfBothCompilers() {
    assertEquals("closed", lastLine("-XX:+TieredCompilation"));
  }

  private static String lastLine(String option) {
    return new ForkedJvm()
        .with("-Xss256k", option)
        .withNativeAccess()
        .withJarOf(ibv_qp.class)
        .run(Overflowing.class)
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
}
