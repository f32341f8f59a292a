package dev.verbena.messages;

import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RemoteMemory;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A place for a call under way of a client. Guarded by the lock of the calls, but for what is final
 * or volatile, and for what the thread sets that has taken it.
 */
final class CallSlot implements BooleanSupplier {
  final int index;

  /** The id of the request: no other one of the connection has it. */
  long id;

  /** The length of the frame of the request. */
  long length;

  /** What is to arrive, or has arrived. */
  Answer answer;

  /** Whether the answer has not arrived. */
  boolean isDue;

  /** Whether a thread or a callback waits for the answer. */
  boolean isAwaited;

  RequestClient.@Nullable Callback callback;
  long deadline;
  Duration timeout = Duration.ZERO;

  /** Where a large request is; its memory if it is of the pool. */
  @Nullable RemoteMemory large;

  @Nullable MemoryRegion copied;

  /** The memory for a large answer. */
  @Nullable RemoteMemory room;

  /** The thread that waits, and whether its wait is over. */
  @Nullable Thread waiter;

  private volatile boolean isOver;

  CallSlot(int index, Answer answer) {
    this.index = index;
    this.answer = answer;
  }

  void over(boolean over) {
    isOver = over;
  }

  @Override
  public boolean getAsBoolean() {
    return isOver;
  }
}
