package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.internal.life.Core;
import dev.verbena.testing.ForkedJvm;
import dev.verbena.testing.FullHeap;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.opentest4j.AssertionFailedError;

/** Objects can be closed after the heap was full during a call. */
class ResourceFullHeapTest {
  @Test
  void objectsOfACallCanBeClosed() {
    assertEquals("closed", run("call"));
  }

  @Test
  void parentsOfAFailedCreationCanBeClosed() {
    assertEquals("closed", run("creation"));
  }

  @Test
  void parentsOfAFailedMoveCanBeClosed() {
    assertEquals("closed", run("move"));
  }

  private static String run(String what) {
    return new ForkedJvm()
        .with("-Xmx16m", "-XX:+UseSerialGC", "-Xint")
        .withNativeAccess()
        .withJarOf(Test.class)
        .withJarOf(AssertionFailedError.class)
        .run(Filling.class, what)
        .succeeded()
        .strip();
  }

  private static final class Thing extends Resource {
    Thing(Core core) {
      super(core);
    }
  }

  /** Fills the heap in the middle of a call. */
  static final class Filling {
    private Filling() {}

    public static void main(String[] args) {
      Thing first = Core.borrow(List.of(), 0, Thing::new);
      Thing second = Core.borrow(List.of(), 0, Thing::new);
      List<Thing> both = List.of(first, second);
      switch (args[0]) {
        case "call" -> attempt(() -> Core.whileOpen(both, FullHeap::fill));
        case "creation" -> attempt(() -> Core.borrow(both, 0, core -> notMade()));
        default -> move(first, second);
      }
      FullHeap.free();
      second.core.close(Duration.ZERO);
      first.core.close(Duration.ZERO);
      System.out.println("closed");
    }

    private static Thing notMade() {
      FullHeap.fill();
      return null;
    }

    /** With ever more memory until it succeeds, it has moved or not. */
    private static void move(Thing from, Thing to) {
      Thing moved = Core.borrow(List.of(from), 0, Thing::new);
      Object[] ballast = new Object[256];
      for (int i = 0; i < ballast.length; i++) {
        ballast[i] = new byte[16];
      }
      Runnable move = () -> moved.core.moveTo(to);
      FullHeap.fill();
      for (int i = 0; !to.core.isUsed(); i++) {
        ballast[i] = null;
        attempt(move);
        if (from.core.isUsed() == to.core.isUsed()) {
          throw new AssertionError("a child of both");
        }
      }
    }

    private static void attempt(Runnable call) {
      try {
        call.run();
      } catch (OutOfMemoryError | NullPointerException e) {
        // The call may fail.
      }
    }
  }
}
