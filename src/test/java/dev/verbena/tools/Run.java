package dev.verbena.tools;

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
      Pattern.compile("Couldn't connect|no listener on the port");

  static Run of(String... args) {
    return with(CommandLine.defaultFactory(), args);
  }

  /** A run whose options a factory makes. */
  static Run with(IFactory factory, String... args) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int status = Main.run(factory, new PrintWriter(out, true), new PrintWriter(err, true), args);
    return new Run(status, out.toString(), err.toString());
  }

  /** A run in a thread of its own: the common pool has few, and processes that end need one. */
  static CompletableFuture<Run> inBackground(String... args) {
    return CompletableFuture.supplyAsync(
        () -> Run.of(args), task -> Thread.ofPlatform().daemon().start(task));
  }

  /** Repeats the run while the peer does not listen. */
  static Run untilConnected(String... args) throws InterruptedException {
    for (int attempt = 0; ; attempt++) {
      Run run = Run.of(args);
      if (attempt == 100 || !NO_LISTENER.matcher(run.err()).find()) {
        return run;
      }
      Thread.sleep(200);
    }
  }

  /** This run, which must have ended well. */
  Run succeeded() {
    if (status != 0) {
      throw new AssertionError("exit status " + status + "\n" + out + err);
    }
    return this;
  }
}
