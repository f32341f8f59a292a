package dev.verbena.internal;

import dev.verbena.VerbsException;
import dev.verbena.internal.calls.DirectQueues;
import dev.verbena.internal.calls.PostingStart;
import java.util.ServiceLoader;
import org.jspecify.annotations.Nullable;

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

  /**
   * Returns what starts the postings of a queue pair through the provider library.
   *
   * @param library the name of the file of the provider library
   * @param qp the {@code ibv_qp}
   * @param qpEx its {@code ibv_qp_ex}
   * @return null: {@code ibv_wr_start} does, as the provider library is another
   */
  @Nullable PostingStart postingStart(String library, long qp, long qpEx);
}
