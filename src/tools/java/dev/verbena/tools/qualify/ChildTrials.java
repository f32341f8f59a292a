package dev.verbena.tools.qualify;

import dev.verbena.tools.qualify.Outcome.Verdict;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Tries capabilities in a child process: a crash of the JVM, or a call that does not return, ends
 * the child and becomes one result, and a further child goes on with the next capability.
 */
public final class ChildTrials {
  private static final int MAX_CHILDREN = 6;
  private static final int MAX_HUNG = 2;

  private final List<String> command;
  private final Duration limit;

  /**
   * Creates the trials.
   *
   * @param command the program and its arguments, to which the index of the first capability is
   *     added
   * @param limit the time within which the child must print something
   */
  ChildTrials(List<String> command, Duration limit) {
    this.command = List.copyOf(command);
    this.limit = limit;
  }

  /** Returns the trials of a device of this host, in JVMs like this one. */
  public static ChildTrials of(String device, Duration limit) {
    return new ChildTrials(command(TrialMain.class, device), limit);
  }

  /** Returns the command of a program of this library in a JVM like this one. */
  public static List<String> command(Class<?> main, String... arguments) {
    try {
      Path library =
          Path.of(ChildTrials.class.getProtectionDomain().getCodeSource().getLocation().toURI());
      List<String> command = new ArrayList<>();
      command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
      command.add("-XX:+UseSerialGC");
      command.add("-XX:-CreateCoredumpOnCrash");
      command.add("-XX:ErrorFile=" + File.separator + "dev" + File.separator + "null");
      command.add("--enable-native-access=ALL-UNNAMED");
      command.addAll(List.of("-cp", library.toString(), main.getName()));
      command.addAll(List.of(arguments));
      return command;
    } catch (URISyntaxException e) {
      throw new IllegalStateException("the location of this program is no path", e);
    }
  }

  /**
   * Tries all capabilities.
   *
   * @param names their names, by index
   * @param told is given each result when it is known
   */
  public void run(List<String> names, Consumer<Outcome> told)
      throws IOException, InterruptedException {
    int next = 0;
    int children = 0;
    int hung = 0;
    while (next < names.size() && children < MAX_CHILDREN && hung < MAX_HUNG) {
      children++;
      List<Outcome> outcomes = oneChild(next, names);
      outcomes.forEach(told);
      next += outcomes.size();
      boolean hasHung = !outcomes.isEmpty() && outcomes.getLast().verdict() == Verdict.HUNG;
      hung += hasHung ? 1 : 0;
    }
    for (; next < names.size(); next++) {
      told.accept(new Outcome(names.get(next), null, Verdict.NOT_TRIED, "earlier trials failed"));
    }
  }

  /** Runs a child, to the last capability or to the one that ends it. */
  private List<Outcome> oneChild(int first, List<String> names)
      throws IOException, InterruptedException {
    List<String> line = new ArrayList<>(command);
    line.add(Integer.toString(first));
    List<Outcome> outcomes = new ArrayList<>();
    Crash crash = new Crash();
    Process child = new ProcessBuilder(line).redirectError(ProcessBuilder.Redirect.DISCARD).start();
    try {
      LinkedBlockingQueue<String> lines = linesOf(child);
      while (first + outcomes.size() < names.size()) {
        String name = names.get(first + outcomes.size());
        @Nullable String said = lines.poll(limit.toMillis(), TimeUnit.MILLISECONDS);
        if (said == null) {
          outcomes.add(
              new Outcome(
                  name, null, Verdict.HUNG, "not ended within " + limit.toSeconds() + " s"));
          return outcomes;
        }
        if (said.isEmpty()) {
          boolean ended = child.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS);
          String status = ended ? "exit status " + child.exitValue() : "no exit status";
          outcomes.add(new Outcome(name, null, Verdict.CRASHED, status + crash.text()));
          return outcomes;
        }
        crash.read(said);
        TrialMain.parse(name, said).ifPresent(outcomes::add);
      }
      return outcomes;
    } finally {
      child.destroyForcibly();
    }
  }

  /** Returns the lines of a child as they come; an empty one is its end. */
  public static LinkedBlockingQueue<String> linesOf(Process child) {
    LinkedBlockingQueue<String> lines = new LinkedBlockingQueue<>();
    Thread.ofVirtual()
        .start(
            () -> {
              try (BufferedReader reader = child.inputReader(StandardCharsets.UTF_8)) {
                for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                  if (!line.isEmpty()) {
                    lines.add(line);
                  }
                }
              } catch (IOException e) {
                lines.add("the output of the child ended: " + e.getMessage());
              } finally {
                lines.add("");
              }
            });
    return lines;
  }
}
