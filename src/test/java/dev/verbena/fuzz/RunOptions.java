package dev.verbena.fuzz;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * What a run does.
 *
 * @param devices what it fuzzes
 * @param time for how long
 * @param leastCalls how many calls it makes at least, however long that takes
 * @param seed that of the first round, from which those of the others follow
 * @param threads how many threads make calls; one makes a run that can be repeated exactly
 * @param calls how many steps the only round has; 0 for rounds until the time is over
 * @param planted the defect to plant; empty for none
 * @param patience how long one call may take
 */
record RunOptions(
    FuzzedDevices devices,
    Duration time,
    long leastCalls,
    long seed,
    int threads,
    long calls,
    String planted,
    Duration patience) {

  private static final long PLANTED_CALLS = 800;

  static final String USAGE =
      "soft|nic|real [--seconds N] [--minutes N] [--least-calls N] [--seed N] [--threads N]"
          + " [--calls N] [--patience SECONDS] [--planted DEFECT]";

  static RunOptions of(FuzzedDevices devices, Duration time) {
    return new RunOptions(devices, time, 0, new Random().nextLong(), 4, 0, "", devices.patience);
  }

  /** A run of a limited number of calls, many of them of a defect that is planted. */
  RunOptions withPlanted(String defect) {
    Duration limit = defect.equals("hang") ? Duration.ofSeconds(3) : patience;
    return new RunOptions(devices, time, 0, seed, threads, PLANTED_CALLS, defect, limit);
  }

  static RunOptions parse(List<String> arguments) {
    if (arguments.isEmpty() || arguments.size() % 2 == 0) {
      throw new IllegalArgumentException("usage: " + USAGE);
    }
    RunOptions options = of(FuzzedDevices.named(arguments.getFirst()), Duration.ofSeconds(10));
    for (int i = 1; i < arguments.size(); i += 2) {
      options = options.with(arguments.get(i), arguments.get(i + 1));
    }
    return options;
  }

  private RunOptions with(String name, String value) {
    return new RunOptions(
        devices,
        switch (name) {
          case "--seconds" -> Duration.ofSeconds(Long.parseLong(value));
          case "--minutes" -> Duration.ofMinutes(Long.parseLong(value));
          default -> time;
        },
        name.equals("--least-calls") ? Long.parseLong(value) : leastCalls,
        name.equals("--seed") ? Long.parseLong(value) : seed,
        name.equals("--threads") ? Integer.parseInt(value) : threads,
        name.equals("--calls") ? Long.parseLong(value) : calls,
        name.equals("--planted") ? value : planted,
        name.equals("--patience") ? Duration.ofSeconds(Long.parseLong(value)) : patience);
  }

  /** As {@link #parse} reads them. */
  List<String> toArguments() {
    List<String> arguments = new ArrayList<>();
    arguments.add(devices.toString());
    arguments.addAll(List.of("--seconds", "" + time.toSeconds(), "--seed", "" + seed));
    arguments.addAll(List.of("--least-calls", "" + leastCalls));
    arguments.addAll(List.of("--threads", "" + threads, "--calls", "" + calls));
    arguments.addAll(List.of("--patience", "" + patience.toSeconds()));
    if (!planted.isEmpty()) {
      arguments.addAll(List.of("--planted", planted));
    }
    return arguments;
  }
}
