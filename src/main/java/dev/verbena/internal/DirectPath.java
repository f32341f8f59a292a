package dev.verbena.internal;

import dev.verbena.VerbsException;
import dev.verbena.internal.calls.CompletionQueueCalls;
import dev.verbena.internal.calls.DirectQueues;
import dev.verbena.internal.calls.QueuePairCalls;
import dev.verbena.internal.calls.SharedReceiveQueueCalls;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The direct data path of a context: Java code posts to and polls its queues instead of the
 * provider library.
 *
 * <p>{@code -Ddev.verbena.direct=auto} selects it for all queues that can have it and that no
 * option excludes.
 */
public final class DirectPath {
  private static final String SETTING = System.getProperty("dev.verbena.direct", "");

  private final Provider provider;
  private final long context;
  private final ThreadDomains threadDomains;
  private @Nullable DirectQueues queues;
  private @Nullable VerbsException refusal;

  public DirectPath(Provider provider, long context) {
    this.provider = provider;
    this.context = context;
    this.threadDomains = ThreadDomains.of(provider, context);
  }

  /** Returns whether queues are direct without being asked for. */
  public static boolean isAutomatic() {
    return switch (SETTING) {
      case "auto" -> true;
      case "" -> false;
      default ->
          throw new IllegalArgumentException(
              "dev.verbena.direct must be auto, or not be set: " + SETTING);
    };
  }

  /**
   * Returns the queues of the context.
   *
   * @throws VerbsException EOPNOTSUPP with the reason if the context has no direct data path
   */
  private synchronized DirectQueues queues() {
    if (refusal != null) {
      throw Explanation.add(refusal, "no direct data path");
    }
    if (queues == null) {
      try {
        queues = provider.directQueues(context);
      } catch (VerbsException e) {
        if (e.isUnsupported()) {
          refusal = e;
        }
        throw e;
      }
    }
    return queues;
  }

  /** Returns why the context has no direct data path; empty if it has one. */
  public Optional<String> obstacle() {
    try {
      queues();
      return Optional.empty();
    } catch (VerbsException e) {
      return Optional.of(e.getMessage());
    }
  }

  /** Returns the thread domains of its queue pairs. */
  public ThreadDomains threadDomains() {
    return threadDomains;
  }

  /** Frees what it has allocated, before the context is closed. */
  public void close() {
    threadDomains.close();
  }

  public QueuePairCalls queuePair(
      long qp,
      DirectQueues.Shape shape,
      Supplier<CompletionQueueCalls> sends,
      Supplier<CompletionQueueCalls> receives,
      @Nullable Supplier<SharedReceiveQueueCalls> shared) {
    return queues().queuePair(qp, shape, sends, receives, shared);
  }

  public CompletionQueueCalls completionQueue(long cq) {
    return queues().completionQueue(cq);
  }

  public SharedReceiveQueueCalls sharedReceiveQueue(long srq, int maxSges) {
    return queues().sharedReceiveQueue(srq, maxSges);
  }
}
