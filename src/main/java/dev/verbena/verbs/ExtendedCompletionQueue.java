package dev.verbena.verbs;

import dev.verbena.internal.BoundsChecks;
import dev.verbena.internal.calls.ExtendedCompletionQueueCalls;
import dev.verbena.internal.life.Core;
import dev.verbena.values.CompletionField;
import java.util.Collections;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * An extended completion queue, whose completions have a selectable set of fields: {@code struct
 * ibv_cq_ex}. It is also a {@code struct ibv_cq} ({@code ibv_cq_ex_to_cq}).
 *
 * {@snippet :
 * ExtendedCompletionQueue queue =
 *     context.completionQueue(128).createExtended(CompletionField.COMPLETION_TIMESTAMP);
 * }
 *
 * <p>Each field is read by a call of its own, so polling is slower than with a {@link
 * CompletionQueue}. Use it for fields that only it provides: timestamps, flow tags, tag matching.
 * Closing it calls {@code ibv_destroy_cq}. See {@code ibv_create_cq_ex(3)}.
 */
public final class ExtendedCompletionQueue extends CompletionQueue {
  private final Set<CompletionField> fields;
  private final CompletionCursor cursor;

  ExtendedCompletionQueue(
      Context context,
      @Nullable CompletionChannel channel,
      Core core,
      boolean warns,
      int requested,
      Set<CompletionField> fields) {
    super(context, channel, core, warns, requested);
    this.fields = Collections.unmodifiableSet(fields);
    this.cursor =
        new CompletionCursor(
            this,
            new ExtendedCompletionQueueCalls(core.address(), context.linking().isCritical()),
            context.mayHaveLibrxeBefore(55)); // Its ibv_next_poll takes one too many.
  }

  /**
   * Returns the fields of the completions of this queue.
   *
   * @return the fields that were selected at creation
   */
  public Set<CompletionField> fields() {
    return fields;
  }

  /**
   * Starts polling with a cursor, which reads completions one by one.
   *
   * @return the single cursor of this queue, before the first completion; to be closed
   * @throws IllegalStateException if it is open already
   */
  public CompletionCursor startPolling() {
    core.requireOpen();
    return cursor.start();
  }

  /**
   * {@inheritDoc}
   *
   * @throws IllegalStateException if this thread has the cursor open: {@code ibv_poll_cq} would
   *     wait for its lock forever
   */
  @Override
  public int poll(Completions completions, int limit) {
    if (BoundsChecks.ON) {
      requireNoCursor("polling");
    }
    return super.poll(completions, limit);
  }

  /**
   * {@inheritDoc}
   *
   * @throws IllegalStateException if this thread has the cursor open: {@code ibv_resize_cq} would
   *     wait for its lock forever
   */
  @Override
  public void resize(int entries) {
    requireNoCursor("resizing");
    super.resize(entries);
  }

  @Override
  void requestNotification(int solicitedOnly) {
    requireNoCursor("requesting a completion event");
    super.requestNotification(solicitedOnly);
  }

  @Override
  void requireNoCursor(String action) {
    if (cursor.section().isOpenHere()) {
      throw new IllegalStateException(
          action
              + " would wait forever: this thread has a cursor open, close it first, on "
              + this);
    }
    cursor.section().endIfAbandoned();
  }

  @Override
  void beforeClose() {
    cursor.section().requireEnded();
    super.beforeClose();
  }

  @Override
  public String toString() {
    return "extended " + super.toString();
  }
}
