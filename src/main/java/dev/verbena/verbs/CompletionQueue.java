package dev.verbena.verbs;

import dev.verbena.internal.CompletionQueueCalls;
import dev.verbena.internal.Memory;
import dev.verbena.raw.ibv_cq;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/** A completion queue: {@code struct ibv_cq}. */
public final class CompletionQueue extends Resource {
  private final Context context;
  private final MemorySegment struct;
  private final CompletionQueueCalls calls;

  private CompletionQueue(Context context, long address) {
    super(address, () -> context.verbs().ibv_destroy_cq(address), context);
    this.context = context;
    this.struct = Memory.at(address, ibv_cq.sizeof());
    this.calls = new CompletionQueueCalls(address, context.linking().isCritical());
  }

  /** What can be asked for when a completion queue is made. */
  public static final class Builder {
    private final Context context;
    private final int entries;
    private int vector;

    Builder(Context context, int entries) {
      if (entries < 1) {
        throw new IllegalArgumentException("a completion queue of " + entries + " entries");
      }
      this.context = context;
      this.entries = entries;
    }

    /**
     * Chooses the completion vector, that is the interrupt, which signals events.
     *
     * @param vector 0 to {@link Context#completionVectors} - 1
     * @return this
     */
    public Builder vector(int vector) {
      this.vector = Objects.checkIndex(vector, context.completionVectors());
      return this;
    }

    /**
     * Makes the queue: {@code ibv_create_cq}.
     *
     * @return a queue, to be closed
     */
    public CompletionQueue create() {
      long cq = context.verbs().ibv_create_cq(context.address(), entries, 0, 0, vector);
      return new CompletionQueue(context, cq);
    }
  }

  /**
   * How many completions the queue holds.
   *
   * @return at least what was asked for
   */
  public int capacity() {
    requireOpen();
    return ibv_cq.cqe(struct);
  }

  /**
   * The context that the queue was made from.
   *
   * @return the context
   */
  public Context context() {
    return context;
  }

  CompletionQueueCalls calls() {
    return calls;
  }

  @Override
  public String toString() {
    return "completion queue of " + context.device();
  }
}
