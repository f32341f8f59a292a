package dev.verbena.verbs;

/** Handles the work completions of {@link CompletionQueue#poll(CompletionHandler, int)}. */
@FunctionalInterface
public interface CompletionHandler {
  /**
   * Handles a work completion, successful or not.
   *
   * @param completions the completions that contain it; valid until this method returns
   * @param index the index of the completion
   */
  void completed(Completions completions, int index);
}
