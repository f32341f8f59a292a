package dev.verbena.soft;

import dev.verbena.internal.Ranges;
import dev.verbena.internal.time.Time;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.LongUnaryOperator;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Runs a program and its software devices in virtual time. A seed decides the run: which thread
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
 * actor starts are actors, too. When no actor can run, the virtual time advances to the end of the
 * next wait: a timeout of an hour takes no real time.
 *
 * <p>The library takes its clock, its timed waits and its random numbers from the simulation. The
 * program uses {@link #sleep}, {@link #now} and {@link #random}: {@link Thread#sleep} and other
 * timed waits of its own code end the run with an error. Platform threads that it starts are not
 * part of the simulation. A loop that waits for memory to change uses a {@link
 * dev.verbena.verbs.PolledMemory}. The address of a region differs from that of its memory: send
 * peers {@link dev.verbena.verbs.MemoryRegion#start}.
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

  private static final ReentrantLock ONE_AT_A_TIME = new ReentrantLock();
  private static final String NONE_CAN_RUN = "no actor can run";
  private static final Duration LONGEST = Duration.ofHours(24);

  /** So many steps at one time are an endless loop. */
  private static final int MOST_STEPS = 1_000_000;

  private final long seed;
  private final Random order;
  private final RandomGenerator random;
  private final InjectedFaults faults;
  private final SimulatedClock clock;
  private final SimulatedThreads threads = new SimulatedThreads();
  private final List<Thread> actors = new ArrayList<>();
  private Duration end = LONGEST;
  private @Nullable Throwable failure;

  private Simulation(long seed, @Nullable Set<Integer> faults) {
    this.seed = seed;
    this.faults = new InjectedFaults(faults);
    this.order = new Random(seed);
    this.random = new Random(order.nextLong());
    this.clock = new SimulatedClock(seed, order, random, threads, this.faults);
  }

  /**
   * Runs a program with the seeds from 0 on until it fails. With the system property {@code
   * dev.verbena.simulation.seed} it is run with that seed only, to repeat a failure; see {@link
   * #run} for two more.
   *
   * @param seeds how many seeds, at least one
   * @param program the program
   * @throws AssertionError if the program or an actor throws an exception, or does not end
   */
  public static void check(int seeds, Program program) {
    int count = Ranges.positive(seeds, "number of seeds");
    Long one = Repetition.seed();
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
   * <p>The faults of a run that come from random numbers, of packets and of {@link Faults#strict},
   * have numbers from 1 on. With {@code -Ddev.verbena.simulation.shrink=true}, a program that fails
   * is run up to 200 times more, to find few faults with which it still fails with an exception of
   * the same class: the error is that of the run with these, and lists them. With {@code
   * -Ddev.verbena.simulation.faults=12,40} beside the seed, only these faults happen in its run;
   * none, if the list is empty.
   *
   * @param seed decides the run
   * @param program the program
   * @throws AssertionError if the program or an actor throws an exception, which is the cause, or
   *     if no actor can run any more
   * @throws IllegalArgumentException if a system property has a wrong value
   * @throws IllegalStateException if a virtual thread calls it, such as an actor
   * @throws UnsupportedOperationException if the JVM does not allow it
   */
  public static void run(long seed, Program program) {
    boolean shrinks = Repetition.shrinks();
    Simulation first = run(seed, program, Repetition.faults(seed));
    if (first.failure != null) {
      throw (shrinks ? shrunk(first, program) : first).error(first.faults().size());
    }
  }

  private static Simulation shrunk(Simulation first, Program program) {
    try {
      return Shrinking.of(first, faults -> run(first.seed, program, faults));
    } catch (Throwable t) { // This run was to explain the first.
      first.fail(t);
      return first;
    }
  }

  private static Simulation run(long seed, Program program, @Nullable Set<Integer> faults) {
    Simulation simulation = begin(seed, faults);
    try {
      simulation.runPart(() -> program.run(simulation));
    } finally {
      simulation.runToEnd();
    }
    return simulation;
  }

  private static Simulation begin(long seed, @Nullable Set<Integer> faults) {
    if (Thread.currentThread().isVirtual()) {
      throw new IllegalStateException(
          "a simulation is run by a platform thread, and not within another simulation");
    }
    ONE_AT_A_TIME.lock();
    try {
      Simulation simulation = new Simulation(seed, faults);
      simulation.threads.onUncaught(simulation::fail);
      return simulation;
    } catch (Throwable t) {
      ONE_AT_A_TIME.unlock();
      throw t;
    }
  }

  /** Begins a simulation whose program comes in parts, all from this thread. */
  static Simulation begin(long seed) {
    return begin(seed, Repetition.faults(seed));
  }

  /** Runs a part of the program until it has ended; its actors go on with the next part. */
  void part(Code code) {
    runPart(code);
    requireSuccess();
  }

  /** Runs until all actors have ended. */
  void end() {
    boolean isNew = failure == null;
    runToEnd();
    if (isNew) {
      requireSuccess();
    }
  }

  private void requireSuccess() {
    if (failure != null) {
      throw error(faults().size());
    }
  }

  private void runPart(Code code) {
    Time.simulate(
        clock,
        () -> {
          Thread part = actor("program", code);
          runWhile(part::isAlive);
        });
  }

  private void runToEnd() {
    try {
      Time.simulate(clock, this::runAllToEnd);
    } finally {
      ONE_AT_A_TIME.unlock();
    }
  }

  private void runAllToEnd() {
    try {
      if (failure == null) {
        runWhile(() -> true);
      }
      if (failure != null) {
        // They close what they have, and have time for it. An interrupt may close a channel itself.
        List<Thread> interrupted = List.copyOf(actors);
        Thread _ = threads.builder().start(() -> interrupted.forEach(Thread::interrupt));
        end = now().plus(LONGEST);
        threads.forgetSteps();
        runWhile(() -> true);
      }
    } finally {
      clock.close();
    }
  }

  private AssertionError error(int allFaults) {
    return new AssertionError(
        "seed %d, after %s with %s: %s; repeat it with %s"
            .formatted(seed, now(), faults.countOf(allFaults), failure, faults.repetition(seed)),
        failure);
  }

  /** Returns whether this has failed by an exception of the same class. */
  boolean failsAs(Simulation other) {
    return failure != null
        && other.failure != null
        && failure.getClass().equals(other.failure.getClass());
  }

  /** Returns the numbers of the faults that were injected. */
  Collection<Integer> faults() {
    return faults.numbers();
  }

  /** Runs until all actors have ended, or until one fails or none can go on. */
  private void runWhile(BooleanSupplier goesOn) {
    Throwable before = failure;
    while (hasActors() && goesOn.getAsBoolean() && Objects.equals(failure, before)) {
      String wrong = threads.admitWoken();
      String obstacle = null;
      if (wrong != null && failure == null) {
        obstacle = wrong;
      } else if (!step() && !clock.pass() && !threads.awaitOutsiders()) {
        obstacle = NONE_CAN_RUN;
      } else if (now().compareTo(end) > 0) {
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
    boolean sleeps =
        actors.stream()
            .map(Thread::getState)
            .anyMatch(
                state ->
                    state == Thread.State.TIMED_WAITING
                        || (state == Thread.State.RUNNABLE // It has been woken meanwhile.
                            && why.equals(NONE_CAN_RUN)));
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
   * Starts an actor. The simulation ends when all actors have ended, and waits for no other thread.
   * An exception that an actor throws, or that another virtual thread does not catch, ends it at
   * once: the actors are then interrupted.
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
    return clock.sinceStart();
  }

  /**
   * Returns the clock of another host, for programs whose hosts compare their times, such as the
   * ends of leases. The seed decides by how much it is ahead of {@link #now}, up to 10 seconds, and
   * how much faster or slower it is, up to 100 parts per million. It never goes back.
   *
   * @return a new clock, which begins in 1970
   */
  public InstantSource hostClock() {
    LongUnaryOperator host = clock.otherClock();
    return () -> Instant.EPOCH.plusNanos(host.applyAsLong(clock.now()));
  }

  /** {@return the random numbers of this simulation, for the program's own decisions} */
  public RandomGenerator random() {
    return random;
  }

  /**
   * Writes a remark of the program to the capture files of this simulation, between the packets.
   *
   * @param text the remark, a line
   * @see SoftNetwork#capture
   */
  public void note(String text) {
    threads.log.remark(text);
  }

  /** {@return the seed of this simulation} */
  public long seed() {
    return seed;
  }

  @Override
  public String toString() {
    return "simulation with seed " + seed;
  }
}
