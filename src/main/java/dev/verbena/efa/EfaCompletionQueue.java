package dev.verbena.efa;

import dev.verbena.address.Gid;
import dev.verbena.internal.Libefa;
import dev.verbena.internal.calls.EfaCompletionCalls;
import dev.verbena.verbs.CompletionCursor;
import dev.verbena.verbs.ExtendedCompletionQueue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Optional;

/**
 * A completion queue that also tells who sent a message, and whether it was solicited: {@code
 * efadv_create_cq}.
 *
 * {@snippet :
 * EfaCompletionQueue completions = efa.createCompletionQueue(context.completionQueue(128));
 * QueuePair queuePair = efa.queuePair(pd).completions(completions.queue()).create();
 * try (CompletionCursor cursor = completions.queue().startPolling()) {
 *   while (cursor.next()) {
 *     completions.sourceGid(cursor).ifPresent(this::createAddressHandle);
 *   }
 * }
 * }
 *
 * <p>Get one with {@link EfaDevice#createCompletionQueue}. It is closed by closing its {@link
 * #queue}. Polling by a cursor allocates memory where the source is read; {@link
 * ExtendedCompletionQueue#poll(dev.verbena.verbs.Completions)} does not.
 */
public final class EfaCompletionQueue {
  private static final int GID_SIZE = 16;

  private final ExtendedCompletionQueue queue;
  private final EfaCompletionCalls calls;

  EfaCompletionQueue(Libefa libefa, ExtendedCompletionQueue queue) {
    this.queue = queue;
    this.calls = new EfaCompletionCalls(libefa.efadv_cq_from_ibv_cq_ex(queue.segment().address()));
  }

  /** {@return the completion queue, to be closed} */
  public ExtendedCompletionQueue queue() {
    return queue;
  }

  /**
   * {@return the GID of the device that sent the message of the current completion; empty if the
   * protection domain of the queue pair has an address handle for it: {@code efadv_wc_read_sgid}}
   *
   * @param cursor the cursor of the queue, at the completion of a receive request
   * @throws IllegalStateException if the cursor is not at a completion of this queue
   */
  public Optional<Gid> sourceGid(CompletionCursor cursor) {
    cursor.requireAtCompletion(queue);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment gid = arena.allocate(GID_SIZE);
      return calls.efadv_wc_read_sgid(gid.address()) == 0
          ? Optional.of(Gid.fromBytes(gid.toArray(ValueLayout.JAVA_BYTE)))
          : Optional.empty();
    }
  }

  /**
   * {@return whether the current completion is that of an RDMA write with immediate data that
   * consumed no receive request, so that its id is 0: {@code efadv_wc_is_unsolicited}}
   *
   * @param cursor the cursor of the queue, at a completion
   * @throws IllegalStateException if the cursor is not at a completion of this queue
   */
  public boolean isUnsolicited(CompletionCursor cursor) {
    cursor.requireAtCompletion(queue);
    return calls.efadv_wc_is_unsolicited();
  }

  @Override
  public String toString() {
    return "EFA " + queue;
  }
}
