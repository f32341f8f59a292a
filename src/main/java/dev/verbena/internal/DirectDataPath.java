package dev.verbena.internal;

import dev.verbena.VerbsException;
import java.util.ServiceLoader;

/**
 * The data path of one vendor's queues in Java, instead of that in the provider library. A {@link
 * ServiceLoader} finds the implementations.
 */
public interface DirectDataPath {
  /**
   * Returns the data path of a context.
   *
   * @param verbs the control verbs
   * @param context the {@code ibv_context}
   * @throws VerbsException EOPNOTSUPP with the reason if this context cannot have it
   */
  DirectQueues open(Verbs verbs, long context);
}
