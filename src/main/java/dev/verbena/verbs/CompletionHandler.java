package dev.verbena.verbs;

/** Told of each completion that {@link CompletionQueue#poll(CompletionHandler, int)} takes. */
@FunctionalInterface
public interface CompletionHandler {
  /**
   * Handles a completion, successful or not.
   *
   * @param completions where it is; valid until this method returns
   * @param index which one it is
   */
  void completed(Completions completions, int index);
}
