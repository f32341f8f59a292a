package dev.verbena.tools.qualify;

import dev.verbena.RdmaException;
import dev.verbena.tools.qualify.Outcome.Verdict;
import dev.verbena.verbs.Device;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

/**
 * Tries all capabilities of a device: those of a software device in threads of this process, where
 * no C code can crash, those of other devices in child processes.
 */
public final class Conformance {
  /** The time of one trial, which has waits of 5 seconds. */
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private static final int MAX_HUNG = 2;

  private final Device device;
  private final Duration limit;

  /** Creates the trials of a device. */
  public Conformance(Device device) {
    this(device, LIMIT);
  }

  Conformance(Device device, Duration limit) {
    this.device = device;
    this.limit = limit;
  }

  /** Returns the number of capabilities. */
  public static int count() {
    return Capabilities.ALL.size();
  }

  /**
   * Tries all.
   *
   * @param told is given each result when it is known
   */
  public void run(Consumer<Outcome> told) throws IOException, InterruptedException {
    if (device.sysfsPath().isEmpty()) {
      runHere(told);
    } else {
      List<String> names = Capabilities.ALL.stream().map(Capability::name).toList();
      List<String> command = ChildJvm.command(ChildTrials.class, device.name());
      new ChildTrials(command, limit).run(names, told);
    }
  }

  private void runHere(Consumer<Outcome> told) throws InterruptedException {
    int hung = 0;
    String obstacle = "";
    for (Capability capability : Capabilities.ALL) {
      if (!obstacle.isEmpty()) {
        told.accept(new Outcome(capability.name(), null, Verdict.NOT_TRIED, obstacle));
        continue;
      }
      Outcome outcome = inThread(capability);
      told.accept(outcome);
      if (outcome.verdict() == Verdict.HUNG) {
        hung++;
        obstacle = hung < MAX_HUNG ? "" : "earlier trials did not end";
      } else if (outcome.verdict() == Verdict.FAILS) {
        obstacle = isThere() ? "" : "the device can no longer be opened";
      }
    }
  }

  private boolean isThere() {
    try {
      device.open().close();
      return true;
    } catch (RdmaException | IllegalStateException e) {
      return false;
    }
  }

  private Outcome inThread(Capability capability) throws InterruptedException {
    FutureTask<Outcome> task = new FutureTask<>(() -> capability.tryOn(device));
    Thread thread = Thread.ofPlatform().daemon().name("trial").start(task);
    try {
      return task.get(limit.toMillis(), TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      thread.interrupt();
      return new Outcome(
          capability.name(), null, Verdict.HUNG, "not ended within " + limit.toSeconds() + " s");
    } catch (ExecutionException e) {
      return new Outcome(capability.name(), null, Verdict.FAILS, "" + e.getCause());
    }
  }
}
