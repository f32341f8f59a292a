package dev.verbena.util;

import dev.verbena.verbs.Completions;

/** Handles the completions of a {@link ReceiveRing}. */
@FunctionalInterface
public interface ReceiveHandler {
  /**
   * Handles the completion of a receive request, successful or not. The handler may change the SGEs
   * of the request before it is posted again.
   *
   * @param completions the completions that contain it; valid until this method returns
   * @param index the index of the completion
   * @param request the index of the receive request in the list of the ring
   * @return whether to post the request again; a failed one is not posted again in any case
   */
  boolean received(Completions completions, int index, int request);
}
