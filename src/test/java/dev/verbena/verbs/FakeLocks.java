package dev.verbena.verbs;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/**
 * The locks that providers keep from one call to the next: that of the completion queue from {@code
 * ibv_start_poll} to {@code ibv_end_poll}, that of the send queue from {@code ibv_wr_start} to
 * {@code ibv_wr_complete} or {@code ibv_wr_abort}. Whatever takes such a lock while it is kept
 * would spin for ever in C; here it fails. For tests in which one thread does everything.
 */
final class FakeLocks {
  private static final int MOST = 8;
  private static final MethodHandle KEEP = method("keep", void.class, long.class);
  private static final MethodHandle FREE = method("free", void.class, long.class);
  private static final MethodHandle STARTED =
      method("started", int.class, Throwable.class, int.class, long.class);

  /** The objects whose locks are kept. An array, since nothing may allocate behind a poll. */
  private final long[] kept = new long[MOST];

  private static MethodHandle method(String name, Class<?> result, Class<?>... parameters) {
    try {
      MethodType type = MethodType.methodType(result, parameters);
      return MethodHandles.lookup().findVirtual(FakeLocks.class, name, type);
    } catch (ReflectiveOperationException e) {
      throw new LinkageError(name, e);
    }
  }

  /** The function behind a pointer, with what it does to the lock of its object. */
  MethodHandle around(String pointer, MethodHandle function) {
    return switch (pointer) {
      case "start_poll" -> MethodHandles.tryFinally(function, STARTED.bindTo(this));
      case "wr_start" -> MethodHandles.foldArguments(function, KEEP.bindTo(this));
      case "end_poll", "wr_complete", "wr_abort" ->
          MethodHandles.foldArguments(function, FREE.bindTo(this));
      default -> function;
    };
  }

  /** Where there is no completion {@code ibv_start_poll} gives the lock back by itself. */
  @SuppressWarnings({"UnusedMethod", "UnusedVariable"}) // Called through STARTED.
  private int started(Throwable thrown, int result, long queue) {
    pass(queue);
    if (result == 0) {
      keep(queue);
    }
    return result;
  }

  private void keep(long object) {
    pass(object);
    for (int i = 0; i < MOST; i++) {
      if (kept[i] == 0) {
        kept[i] = object;
        return;
      }
    }
    throw new AssertionError("more locks are kept than this class counts");
  }

  @SuppressWarnings("UnusedMethod") // Called through FREE.
  private void free(long object) {
    for (int i = 0; i < MOST; i++) {
      if (kept[i] == object) {
        kept[i] = 0;
        return;
      }
    }
    throw new AssertionError("a lock is given back that nobody has");
  }

  /** Takes an object's lock for a moment. */
  void pass(long object) {
    for (long other : kept) {
      if (other == object && object != 0) {
        throw new AssertionError("C waits for ever for a lock that its own thread keeps");
      }
    }
  }
}
