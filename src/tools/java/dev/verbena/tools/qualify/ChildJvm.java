package dev.verbena.tools.qualify;

import com.google.gson.Gson;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A JVM in a child process: the lines that it prints, and how it ended. */
public final class ChildJvm implements AutoCloseable {
  /** The end of a program that has succeeded. */
  public static final String SUCCESS = "exit status 0";

  private static final Pattern SIGNAL = Pattern.compile("# +(SIG\\w+|Internal Error)\\b.*");
  private static final String FRAME = "# Problematic frame:";

  private final Duration limit;
  private final Process process;
  private final LinkedBlockingQueue<String> lines = new LinkedBlockingQueue<>();
  private String signal = "";
  private String frame = "";
  private boolean isFrameNext;

  /**
   * Starts a child.
   *
   * @param limit the time within which it must print a line, and end after the last one
   */
  public ChildJvm(List<String> command, Duration limit) throws IOException {
    this.limit = limit;
    process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
    Thread.ofVirtual().start(this::read);
  }

  /** Returns the command of a program of this jar in a JVM like this one. */
  public static List<String> command(Class<?> main, String... arguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-XX:+UseSerialGC", "-XX:-CreateCoredumpOnCrash"));
    command.addAll(List.of("-XX:ErrorFile=/dev/null", "--enable-native-access=ALL-UNNAMED"));
    // One jar, unless the classes are those of a build.
    Stream<String> path = Stream.of(ChildJvm.class, Gson.class).map(ChildJvm::location).distinct();
    command.addAll(List.of("-cp", path.collect(Collectors.joining(":"))));
    command.add(main.getName());
    command.addAll(List.of(arguments));
    return command;
  }

  private static String location(Class<?> type) {
    try {
      return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI()).toString();
    } catch (URISyntaxException e) {
      throw new IllegalStateException("the location of this program is no path", e);
    }
  }

  private void read() {
    try (BufferedReader reader = process.inputReader(StandardCharsets.UTF_8)) {
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
  }

  /** Returns the next line; an empty one at the end, null if none comes within the limit. */
  public @Nullable String next() throws InterruptedException {
    @Nullable String line = lines.poll(limit.toMillis(), TimeUnit.MILLISECONDS);
    if (line != null) {
      findCrash(line);
    }
    return line;
  }

  /** Looks for what a JVM prints of its crash: the signal, and the frame that it was in. */
  private void findCrash(String line) {
    Matcher matcher = SIGNAL.matcher(line);
    if (isFrameNext) {
      frame = " in " + line.substring(1).strip();
      isFrameNext = false;
    } else if (matcher.matches()) {
      signal = ": " + matcher.group(1);
    } else {
      isFrameNext = line.equals(FRAME);
    }
  }

  /** Waits for the end; returns the exit status, and the crash if there was one. */
  public String end() throws InterruptedException {
    return process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)
        ? "exit status " + process.exitValue() + signal + frame
        : "no exit status";
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
