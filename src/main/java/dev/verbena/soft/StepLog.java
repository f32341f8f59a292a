package dev.verbena.soft;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Which thread of a simulation runs, and the remarks of the program, for capture files. */
final class StepLog {
  /** Numbers in the names of the library's threads that are not the same in another run. */
  private static final Pattern UNSTABLE =
      Pattern.compile("(?<=event channel|file descriptor|verbena-soft)[ -]\\d+");

  private final List<Consumer<String>> files = new ArrayList<>();
  private final Map<Thread, String> names = new WeakHashMap<>();
  private final Map<String, Integer> counts = new HashMap<>();
  private @Nullable Thread last;

  void add(Consumer<String> file) {
    if (!files.contains(file)) {
      files.add(file);
    }
  }

  void remove(Consumer<String> file) {
    files.remove(file);
  }

  boolean isWritten() {
    return !files.isEmpty();
  }

  /** A thread runs: a line, unless it is the one that ran before. */
  void begins(Thread thread) {
    if (!thread.equals(last)) {
      last = thread;
      remark("actor " + names.computeIfAbsent(thread, this::name) + " runs");
    }
  }

  /** Threads of one name have numbers, in the order in which they first run. */
  private String name(Thread thread) {
    String given = thread.getName();
    String name = given.isEmpty() ? "thread" : UNSTABLE.matcher(given).replaceAll("");
    int number = counts.merge(name, 1, Integer::sum);
    return number == 1 ? name : name + '-' + number;
  }

  void remark(String text) {
    files.forEach(file -> file.accept(text));
  }
}
