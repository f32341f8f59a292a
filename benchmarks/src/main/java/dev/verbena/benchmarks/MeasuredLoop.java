package dev.verbena.benchmarks;

/** What {@link DataPath} measures, in one language. */
interface MeasuredLoop {
  /** The number of requests of one sample. */
  int REQUESTS = 256;

  /** Patches and posts all requests. */
  void post();

  /** Takes the completions of all; returns a sum, so that nothing can be left out. */
  long poll();

  /** Polls an empty queue as often as there are requests. */
  long pollEmpty();

  /** Posts all receive requests. */
  void postReceives();

  /** Takes the completions of all receive requests, and posts each again. */
  long receive();
}
