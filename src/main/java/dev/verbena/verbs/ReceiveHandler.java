package dev.verbena.verbs;

/** Told of each receive of a {@link ReceiveRing}. */
@FunctionalInterface
public interface ReceiveHandler {
  /**
   * Handles a receive, successful or not. The request may be pointed at other memory here before it
   * is posted again.
   *
   * @param completions where its completion is; valid until this method returns
   * @param index which completion it is
   * @param request which request of the ring's list was used
   * @return whether to post the request again; a failed one is not, whatever this says
   */
  boolean received(Completions completions, int index, int request);
}
