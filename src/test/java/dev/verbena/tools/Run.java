package dev.verbena.tools;

import dev.verbena.testing.Await;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Pattern;
import picocli.CommandLine;
import picocli.CommandLine.IFactory;

/** A run of the command line inside this JVM. */
record Run(int status, String out, String err) {
  /** The messages if the peer does not listen: over TCP, and by RDMA CM. */
  private static final Pattern NO_LISTENER =
      Pattern.compile("Couldn't connect|no listener on the port|refused");

  static Run of(String... args) {
    return with(CommandLine.defaultFactory(), args);
  }

  /** A run whose options a factory makes. */
  static Run with(IFactory factory, String... args) {
    return with(factory, new StringWriter(), args);
  }

  private static Run with(IFactory factory, StringWriter out, String... args) {
    StringWriter err = new StringWriter();
    int status = Main.run(factory, new PrintWriter(out, true), new PrintWriter(err, true), args);
    return new Run(status, out.toString(), err.toString());
  }

  /** A run in a thread of its own: the common pool has few, and processes that end need one. */
  static CompletableFuture<Run> inBackground(String... args) {
    return start(args).end();
  }

  /**
   * A run in the background, whose output can be read meanwhile.
   *
   * @param end the run when it has ended
   * @param out its output so far
   */
  record Started(CompletableFuture<Run> end, StringWriter out) {
    /** Waits until it has printed something, or has ended. */
    void says(String words) {
      Await.until(words, () -> out.toString().contains(words) || end.isDone());
    }

    /** Waits for its end, which must be a good one; returns its output. */
    String output() {
      return end.join().succeeded().out();
    }
  }

  /** Starts a run in a thread of its own. */
  static Started start(String... args) {
    StringWriter out = new StringWriter();
    return new Started(
        CompletableFuture.supplyAsync(
            () -> with(CommandLine.defaultFactory(), out, args),
            task -> Thread.ofPlatform().daemon().start(task)),
        out);
  }

  /** Repeats the run while the peer does not listen. */
  static Run untilConnected(String... args) throws InterruptedException {
    return Await.attempt(
        "nobody listens yet",
        () -> {
          Run run = Run.of(args);
          return NO_LISTENER.matcher(run.err()).find() ? null : run;
        });
  }

  /** This run, which must have ended well. */
  Run succeeded() {
    if (status != 0) {
      throw new AssertionError("exit status " + status + "\n" + out + err);
    }
    return this;
  }
}
