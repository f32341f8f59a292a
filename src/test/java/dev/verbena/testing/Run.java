package dev.verbena.testing;

import dev.verbena.programs.Programs;
import dev.verbena.tools.Main;
import dev.verbena.tools.command.Cli;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.regex.Pattern;
import picocli.CommandLine;
import picocli.CommandLine.IFactory;

/** A run of the command line, or of a program of the test tree, inside this JVM. */
public record Run(int status, String out, String err) {
  /** The messages if the peer does not listen: over TCP, and by RDMA CM. */
  private static final Pattern NO_LISTENER =
      Pattern.compile("Couldn't connect|no listener on the port|refused");

  private static final Set<String> PROGRAMS =
      new CommandLine(new Programs()).getSubcommands().keySet();

  public static Run of(String... args) {
    return with(CommandLine.defaultFactory(), args);
  }

  /** A run whose options a factory makes. */
  public static Run with(IFactory factory, String... args) {
    return with(factory, new StringWriter(), args);
  }

  private static Run with(IFactory factory, StringWriter out, String... args) {
    StringWriter err = new StringWriter();
    int status =
        root(args).run(factory, new PrintWriter(out, true), new PrintWriter(err, true), args);
    return new Run(status, out.toString(), err.toString());
  }

  /** Runs a command that writes to these; returns its exit status. */
  public static int writing(PrintWriter out, PrintWriter err, String... args) {
    return root(args).run(CommandLine.defaultFactory(), out, err, args);
  }

  /** Returns the class whose {@code main} has the command. */
  public static Class<?> programOf(String... args) {
    return root(args).getClass();
  }

  private static Cli root(String... args) {
    return args.length > 0 && PROGRAMS.contains(args[0]) ? new Programs() : new Main();
  }

  /** A run in a thread of its own: the common pool has few, and processes that end need one. */
  public static CompletableFuture<Run> inBackground(String... args) {
    return start(args).end();
  }

  /**
   * A run in the background, whose output can be read meanwhile.
   *
   * @param end the run when it has ended
   * @param out its output so far
   */
  public record Started(CompletableFuture<Run> end, StringWriter out) {
    /** Waits until it has printed something, or has ended. */
    public void says(String words) {
      Await.until(words, () -> out.toString().contains(words) || end.isDone());
    }

    /** Waits for its end, which must be a good one; returns its output. */
    public String output() {
      return end.join().succeeded().out();
    }
  }

  /** Starts a run in a thread of its own. */
  public static Started start(String... args) {
    StringWriter out = new StringWriter();
    return new Started(
        CompletableFuture.supplyAsync(
            () -> with(CommandLine.defaultFactory(), out, args),
            task -> Thread.ofPlatform().daemon().start(task)),
        out);
  }

  /** Repeats the run while the peer does not listen, unless it has ended. */
  public static Run untilConnected(BooleanSupplier hasEnded, String... args)
      throws InterruptedException {
    return Await.attempt(
        "nobody listens yet",
        () -> {
          boolean isLast = hasEnded.getAsBoolean();
          Run run = Run.of(args);
          return !isLast && NO_LISTENER.matcher(run.err()).find() ? null : run;
        });
  }

  /** This run, which must have ended well. */
  public Run succeeded() {
    if (status != 0) {
      throw new AssertionError("exit status " + status + "\n" + out + err);
    }
    return this;
  }
}
