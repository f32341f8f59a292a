package dev.verbena.verbs;

import dev.verbena.internal.ExtendedCompletionQueueCalls;
import java.util.Collections;
import java.util.Set;

/**
 * A completion queue that tells of each completion only what it was made to tell: {@code struct
 * ibv_cq_ex}.
 *
 * <p>Each value is read by a call of its own, so this is slower than a plain queue from Java. It is
 * for what only it has: timestamps, flow tags, tag matching.
 */
public final class ExtendedCompletionQueue extends CompletionQueue {
  private final Set<CompletionField> fields;
  private final ExtendedCompletionQueueCalls calls;

  ExtendedCompletionQueue(Made made, Set<CompletionField> fields) {
    super(made);
    this.fields = Collections.unmodifiableSet(fields);
    this.calls = new ExtendedCompletionQueueCalls(made.address());
  }

  /**
   * What the queue tells of each completion.
   *
   * @return the fields it was made with
   */
  public Set<CompletionField> fields() {
    return fields;
  }

  ExtendedCompletionQueueCalls extendedCalls() {
    return calls;
  }

  @Override
  public String toString() {
    return "extended " + super.toString();
  }
}
