package dev.verbena.tools.qualify;

import dev.verbena.tools.qualify.Bench.Pair;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.SendList;

/** The loops that the data path is measured with, in one language. */
interface Loops {
  /** The number of polls of a sample. */
  int POLLS = 64;

  /** Returns the language, as reports name it. */
  String language();

  /** Fills an array with nanoseconds of a poll that finds nothing. */
  void emptyPolls(long[] times);

  /**
   * Posts a batch of writes and waits for its completion, as often as the arrays are long.
   *
   * @param posts the nanoseconds of each post
   * @param rounds the nanoseconds of each post until its completion was polled
   */
  void posts(int batch, long[] posts, long[] rounds) throws Exception;

  /** The loops in Java. */
  record InJava(Bench bench, Pair pair, String language) implements Loops {
    @Override
    public void emptyPolls(long[] times) {
      Completions none = new Completions(1);
      for (int n = 0; n < times.length; n++) {
        long start = System.nanoTime();
        for (int i = 0; i < POLLS; i++) {
          var _ = bench.completions.poll(none);
        }
        times[n] = (System.nanoTime() - start) / POLLS;
      }
    }

    @Override
    public void posts(int batch, long[] posts, long[] rounds) throws Exception {
      SendList list = new SendList(batch, 1);
      for (int i = 0; i < batch; i++) {
        list.write(i)
            .local(bench.memory, 0, Long.BYTES)
            .remote(bench.memory.start() + Bench.HALF, bench.memory.rkey());
      }
      list.signaled(batch - 1);
      for (int n = 0; n < posts.length; n++) {
        long start = System.nanoTime();
        bench.post(pair.queuePair(), list);
        long posted = System.nanoTime();
        var _ = bench.success(bench.completions);
        rounds[n] = System.nanoTime() - start;
        posts[n] = posted - start;
      }
    }
  }
}
