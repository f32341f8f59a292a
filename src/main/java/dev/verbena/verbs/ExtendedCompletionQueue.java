package dev.verbena.verbs;

import dev.verbena.internal.ExtendedCompletionQueueCalls;
import java.util.Collections;
import java.util.Set;

/**
 * A completion queue that tells of each completion only what it was made to tell: {@code struct
 * ibv_cq_ex}. It is a plain queue as well, {@code ibv_cq_ex_to_cq} without a call.
 *
 * <p>Each value is read by a call of its own, so this is slower than a plain queue from Java. It is
 * for what only it has: timestamps, flow tags, tag matching.
 */
public final class ExtendedCompletionQueue extends CompletionQueue {
  private final Set<CompletionField> fields;
  private final CompletionCursor cursor;

  ExtendedCompletionQueue(Made made, Set<CompletionField> fields) {
    super(made);
    this.fields = Collections.unmodifiableSet(fields);
    this.cursor =
        new CompletionCursor(
            this,
            new ExtendedCompletionQueueCalls(made.address(), made.context().linking().isCritical()),
            takesOneTooMany(made.context()));
  }

  /**
   * Whether {@code ibv_next_poll} may be librxe's of before rdma-core 55: it miscounts at the end.
   */
  private static boolean takesOneTooMany(Context context) {
    return !context.linking().isCritical()
        && context
            .provider()
            .release()
            .map(release -> Integer.parseInt(release.replaceFirst("\\D.*", "")) < 55)
            .orElse(false);
  }

  /**
   * What the queue tells of each completion.
   *
   * @return the fields it was made with
   */
  public Set<CompletionField> fields() {
    return fields;
  }

  /**
   * Begins to read completions one by one, value by value.
   *
   * @return the one cursor of this queue, before the first completion; to be closed
   * @throws IllegalStateException if it is open already
   */
  public CompletionCursor startPolling() {
    requireOpen();
    return cursor.start();
  }

  /**
   * {@inheritDoc}
   *
   * @throws IllegalStateException if this thread has the cursor open: C would wait for its end
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
   * @throws IllegalStateException if this thread has the cursor open: C would wait for its end
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
    if (cursor.isOpenHere()) {
      throw new IllegalStateException(
          action + " waits in C for the end of the cursor that this thread has open on " + this);
    }
    cursor.closeIfAbandoned();
  }

  @Override
  protected void beforeClose() {
    cursor.requireClosed();
  }

  @Override
  public String toString() {
    return "extended " + super.toString();
  }
}
