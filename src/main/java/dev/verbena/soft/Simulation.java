package dev.verbena.soft;

import dev.verbena.internal.Ranges;
import dev.verbena.internal.time.Time;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * A run of a program and its software devices in virtual time, which a seed decides: which thread
 * runs next, how long each wait takes, the random numbers of the library and of the faults. The
 * same seed gives the same run, packet by packet, in another JVM too.
 *
 * {@snippet :
 * Simulation.check(500, simulation -> {
 *   try (SoftHosts hosts = SoftHosts.create()) {
 *     hosts.faults().vary(simulation.random());
 *     Connection client = hosts.client();
 *     Connection server = hosts.server();
 *     Thread echo = simulation.actor("echo", () -> server.send(server.receive()));
 *     client.send(request);
 *     assertArrayEquals(request, client.receive());
 *     echo.join();
 *   }
 * });
 * }
 *
 * <p>The code runs in <em>actors</em>: virtual threads, of which exactly one runs at a time. An
 * actor that waits lets the others run: in a call of this library, for a lock, a future or a
 * thread. So code that blocks, callbacks and channels run unchanged, and virtual threads that an
 * actor starts are actors, too. When no actor can run, the time goes on to the end of the next
 * wait: a timeout of an hour takes no time.
 *
 * <p>The library has its clock, its waits with a limit and its random numbers from the simulation.
 * A program has its own from {@link #sleep}, {@link #now} and {@link #random}: {@link Thread#sleep}
 * and other waits with a limit in its own code end the run with an error, a platform thread that it
 * starts has no part in the simulation, and a loop that waits for memory to change uses a {@link
 * dev.verbena.verbs.PolledMemory}. Memory regions have other addresses than their memory: peers get
 * {@link dev.verbena.verbs.MemoryRegion#start}.
 *
 * <p>It requires JDK 24 or later, and the option {@code --add-opens
 * java.base/java.lang=ALL-UNNAMED}, or {@code =dev.verbena} if the library is on the module path:
 * virtual threads with a scheduler of their own are not yet public. One simulation runs at a time.
 */
public final class Simulation {
  /** The code of an actor. */
  @FunctionalInterface
  public interface Code {
    /**
     * Runs the code.
     *
     * @throws Exception what it throws ends the simulation
     */
    void run() throws Exception;
  }

  /** The code that begins a simulation: its first actor. */
  @FunctionalInterface
  public interface Program {
    /**
     * Runs the program.
     *
     * @param simulation the simulation
     * @throws Exception what it throws ends the simulation
     */
    void run(Simulation simulation) throws Exception;
  }

  private static final String SEED = "dev.verbena.simulation.seed";
  private static final ReentrantLock ONE_AT_A_TIME = new ReentrantLock();
  private static final Duration LONGEST = Duration.ofHours(24);

  /** So many steps at one time are an endless loop. */
  private static final int MOST_STEPS = 1_000_000;

  private final long seed;
  private final Random order;
  private final RandomGenerator random;
  private final SimulatedClock clock;
  private final SimulatedThreads threads = new SimulatedThreads();
  private final List<Thread> actors = new ArrayList<>();
  private @Nullable Throwable failure;

  private Simulation(long seed) {
    this.seed = seed;
    this.order = new Random(seed);
    this.random = new Random(order.nextLong());
    this.clock = new SimulatedClock(order, random, threads);
  }

  /**
   * Runs a program with the seeds from 0 on until it fails. With the system property {@code
   * dev.verbena.simulation.seed} it is run with that seed only, to repeat a failure.
   *
   * @param seeds how many seeds, at least one
   * @param program the program
   * @throws AssertionError if the program or an actor throws an exception, or does not end
   */
  public static void check(int seeds, Program program) {
    int count = Ranges.positive(seeds, "number of seeds");
    Long one = Long.getLong(SEED);
    if (one != null) {
      run(one, program);
      return;
    }
    for (long seed = 0; seed < count; seed++) {
      run(seed, program);
    }
  }

  /**
   * Runs a program, until it and all actors that it created have ended.
   *
   * @param seed decides the run
   * @param program the program
   * @throws AssertionError if the program or an actor throws an exception, which is the cause, or
   *     if no actor can run any more
   * @throws UnsupportedOperationException if the JVM does not allow it
   */
  public static void run(long seed, Program program) {
    ONE_AT_A_TIME.lock();
    try {
      Simulation simulation = new Simulation(seed);
      Time.simulate(simulation.clock, () -> simulation.run(program));
    } finally {
      ONE_AT_A_TIME.unlock();
    }
  }

  private void run(Program program) {
    Thread _ = actor("program", () -> program.run(this));
    try {
      runUntilEnd();
      if (failure != null) {
        actors.forEach(Thread::interrupt); // They close what they have.
        runUntilEnd();
      }
    } finally {
      clock.close();
    }
    if (failure != null) {
      throw new AssertionError(
          "seed %d, after %s: %s; repeat it with -D%s=%d"
              .formatted(seed, now(), failure, SEED, seed),
          failure);
    }
  }

  /** Runs until all actors have ended, or until one fails or none can go on. */
  private void runUntilEnd() {
    Throwable before = failure;
    while (hasActors() && Objects.equals(failure, before)) {
      String obstacle = null;
      if (!step() && !clock.pass() && !threads.awaitOutsiders()) {
        obstacle = "no actor can run";
      } else if (now().compareTo(LONGEST) > 0) {
        obstacle = "the actors do not end";
      } else if (threads.steps() > MOST_STEPS) {
        obstacle = "the actors run, but the time does not go on";
      }
      if (obstacle != null) {
        fail(stalled(obstacle));
        return;
      }
    }
  }

  private boolean step() {
    if (threads.step(order, clock.now())) {
      return true;
    }
    clock.look();
    return threads.step(order, clock.now());
  }

  private boolean hasActors() {
    actors.removeIf(thread -> !thread.isAlive());
    return !actors.isEmpty();
  }

  private IllegalStateException stalled(String why) {
    boolean sleeps = actors.stream().anyMatch(a -> a.getState() == Thread.State.TIMED_WAITING);
    IllegalStateException stalled =
        new IllegalStateException(
            "%s: %s%s"
                .formatted(
                    why,
                    actors.stream().map(Thread::getName).toList(),
                    sleeps ? "; one waits by the clock of the machine: use Simulation.sleep" : ""));
    for (Thread actor : actors) {
      Throwable trace = new Throwable("actor " + actor.getName());
      trace.setStackTrace(actor.getStackTrace());
      stalled.addSuppressed(trace);
    }
    return stalled;
  }

  private void fail(Throwable t) {
    if (failure == null) {
      failure = t;
    } else if (!failure.equals(t)) {
      failure.addSuppressed(t);
    }
  }

  /**
   * Starts an actor. The simulation ends when all have ended; what one throws ends it at once: the
   * others are then interrupted.
   *
   * @param name the name of its thread
   * @param code its code
   * @return its thread
   */
  public Thread actor(String name, Code code) {
    Thread thread =
        threads
            .builder()
            .name(name)
            .unstarted(
                () -> {
                  try {
                    code.run();
                  } catch (Throwable t) {
                    fail(t);
                  }
                });
    actors.add(thread);
    thread.start();
    return thread;
  }

  /**
   * Waits: as {@link Thread#sleep(Duration)}, in virtual time if an actor calls it.
   *
   * @param duration how long
   * @throws InterruptedException if the thread is interrupted
   */
  public static void sleep(Duration duration) throws InterruptedException {
    Time.sleep(TimeUnit.NANOSECONDS.convert(duration));
  }

  /** {@return the time since the start of the simulation} */
  public Duration now() {
    return Duration.ofNanos(clock.now() - SimulatedClock.START);
  }

  /** {@return the random numbers of this simulation, for the program's own decisions} */
  public RandomGenerator random() {
    return random;
  }

  /** {@return the seed of this simulation} */
  public long seed() {
    return seed;
  }
}
