package dev.verbena.fuzz;

import dev.verbena.verbs.Context;
import dev.verbena.verbs.ProtectionDomain;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Defects for the fuzzer to find: methods that it calls like those of the API. */
final class Planted {
  private Planted() {}

  private static final Map<String, Class<?>> DEFECTS =
      Map.of(
          "crash", Crash.class, "hang", Hang.class, "internal", Internal.class, "leak", Leak.class);

  static Class<?> of(String defect) {
    return Objects.requireNonNull(DEFECTS.get(defect), defect);
  }

  /** Reads memory that is not there. */
  public static final class Crash {
    private Crash() {}

    /** Crashes. */
    @SuppressWarnings("restricted")
    public static byte read(int offset) {
      return MemorySegment.ofAddress(64)
          .reinterpret(4096)
          .get(ValueLayout.JAVA_BYTE, Math.floorMod(offset, 64));
    }
  }

  /** Does not end. */
  public static final class Hang {
    private Hang() {}

    /** Waits for what does not happen. */
    @SuppressWarnings("WaitNotInLoop")
    public static synchronized void forEver() {
      while (true) {
        try {
          Hang.class.wait();
        } catch (InterruptedException e) {
          // Nothing ends it.
        }
      }
    }
  }

  /** Throws what comes from inside. */
  public static final class Internal {
    private Internal() {}

    /** Overflows. */
    public static int overflow(int number) {
      return Math.multiplyExact(number, Integer.MAX_VALUE);
    }
  }

  /** Forgets what it makes. */
  public static final class Leak {
    /** Several: the network of some may be closed before the objects are counted. */
    private static final int MOST = 20;

    private static final List<ProtectionDomain> FORGOTTEN = new ArrayList<>();

    private Leak() {}

    /** Makes domains on contexts of their own. */
    public static synchronized void forget(Context context) {
      if (FORGOTTEN.size() < MOST) {
        FORGOTTEN.add(context.device().open().allocateProtectionDomain());
      }
    }
  }
}
