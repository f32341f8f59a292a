package dev.verbena.internal.life;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import java.util.List;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

/** A thread that closes an object, or another one that enters its calls, beside the data path. */
final class ClosingStress {
  private ClosingStress() {}

  /** An object that C destroys, and calls with it that take a while. */
  abstract static class Destroyed {
    private static final int LOADS = 16;

    final Core core =
        Core.make(
            List.of(),
            () -> 1,
            address -> isDestroyed = true,
            made -> {
              made.owner("object");
              return made;
            });

    private volatile boolean isDestroyed;

    /** A call with the object; returns how often it accessed the object after its destruction. */
    int call() {
      int wrong = 0;
      for (int i = 0; i < LOADS; i++) {
        wrong += isDestroyed ? 1 : 0;
      }
      return wrong;
    }
  }

  /** Calls of the data path until the object is closed: some own their entry, some revoke it. */
  @JCStressTest
  @State
  @Outcome(id = "0", expect = ACCEPTABLE, desc = "Each call ended before the destruction.")
  @Outcome(expect = FORBIDDEN, desc = "A call used the object after its destruction.")
  public static class CallBesideClose extends Destroyed {
    private final DataPathUser user = new DataPathUser(this);

    /** By a thread that calls afterwards or by another one, half of the time each. */
    public CallBesideClose() {
      int _ = enterAndCall();
    }

    private int enterAndCall() {
      DataPathEntry entry = user.enter();
      try {
        if (!user.isCheckedFor(core)) {
          int closings = Core.closingsBefore();
          user.use(core);
          user.checked(core, closings);
        }
        return call();
      } finally {
        entry.leave();
      }
    }

    @Actor
    public void call(I_Result result) {
      try {
        while (true) {
          result.r1 += enterAndCall();
        }
      } catch (IllegalStateException e) {
        requireClosed(core, e);
      }
    }

    @Actor
    public void close() {
      core.close();
    }
  }

  /** Sections of calls, such as postings, until the object is closed. */
  @JCStressTest
  @State
  @Outcome(id = "0", expect = ACCEPTABLE, desc = "Each section ended before the destruction.")
  @Outcome(expect = FORBIDDEN, desc = "A section used the object after its destruction.")
  public static class SectionBesideClose extends Destroyed {
    private final OpenSection section = new OpenSection("section", core, () -> {});

    public SectionBesideClose() {
      core.beforeClose(section::requireEnded);
    }

    @Actor
    public void open(I_Result result) {
      try {
        while (true) {
          section.open();
          result.r1 += call();
          section.release();
        }
      } catch (IllegalStateException e) {
        requireClosed(core, e);
      }
    }

    @Actor
    public void close() {
      core.close();
    }
  }

  /** Two threads enter calls with one object: an entry of each in turn, then a shared one. */
  @JCStressTest
  @State
  @Outcome(id = "0", expect = ACCEPTABLE, desc = "One thread at a time was inside.")
  @Outcome(expect = FORBIDDEN, desc = "Two threads were inside at the same time.")
  public static class TwoThreadsOneUser {
    private static final int CALLS = 8;
    private static final int PAUSES = 4;

    private final DataPathUser user = new DataPathUser(this);

    /** The number of calls, which no fence orders: two threads inside overwrite each other's. */
    private int calls;

    private int first;
    private int second;

    private int enter() {
      int entered = 0;
      for (int i = 0; i < CALLS; i++) {
        try {
          DataPathEntry entry = user.enter();
          int before = calls;
          for (int j = 0; j < PAUSES; j++) {
            Thread.onSpinWait();
          }
          calls = before + 1;
          entered++;
          entry.leave();
        } catch (IllegalStateException e) {
          Thread.onSpinWait(); // The other thread is inside.
        }
      }
      return entered;
    }

    @Actor
    public void first() {
      first = enter();
    }

    @Actor
    public void second() {
      second = enter();
    }

    @Arbiter
    public void count(I_Result result) {
      result.r1 = first + second - calls;
    }
  }

  private static void requireClosed(Core core, IllegalStateException e) {
    if (core.isOpen()) {
      throw e;
    }
  }
}
